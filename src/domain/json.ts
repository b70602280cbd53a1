/** JSON values as events carry them, and the few questions the ledger asks of them. */
import * as z from 'zod';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Any JSON value; strings must survive UTF-8 (no lone surrogate). */
export const Json: z.ZodType<Json> = z.json().refine((value) => wellFormed(value as Json), {
  message: 'contains text that is not valid Unicode (a lone surrogate)',
}) as z.ZodType<Json>;

const wellFormed = (value: Json): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(wellFormed);
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && wellFormed(item as Json));
};

export const isJsonObject = (value: Json): value is { readonly [key: string]: Json } =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * Merges a patch into stored metadata of any shape: unrelated keys of an object survive; what is not an object
 * cannot take keys and stays until a patch replaces it (design §5, "stored metadata of any shape").
 */
export const mergeMetadata = (stored: Json, patch: { readonly [key: string]: Json }): Json => {
  if (Object.keys(patch).length === 0) return stored;
  return isJsonObject(stored) ? { ...stored, ...patch } : { ...patch };
};
