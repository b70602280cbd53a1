/** SQLite's errors by their codes, and as the port tells them. */
import { Sqlite } from '../../sqlite/driver.js';
import type { LogUnavailable } from '../port.js';

export const sqliteCode = (error: unknown): string | null =>
  error instanceof Sqlite.SqliteError ? error.code : null;

/** Somebody else holds a lock that we want: never told to a caller, always tried again. */
export const isBusy = (error: unknown): boolean => {
  const code = sqliteCode(error);
  return (
    code !== null &&
    (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED') || code === 'SQLITE_PROTOCOL')
  );
};

const WAYS_OUT: readonly (readonly [string, string])[] = [
  ['SQLITE_FULL', 'the disk is full: make room, then try again'],
  ['SQLITE_IOERR', 'the disk reported an error: look at the system log'],
  ['SQLITE_CORRUPT', 'the file is damaged: put a backup in its place'],
  ['SQLITE_NOTADB', 'the file is damaged: put a backup in its place'],
  [
    'SQLITE_READONLY',
    'the file or its directory is read-only: give write permission, or name another place with --state-dir',
  ],
  ['SQLITE_CANTOPEN', 'the file or its directory is gone: look whether it was moved'],
];

export const unavailable = (path: string, error: unknown, outcomeUnknown: boolean): LogUnavailable => {
  const code = sqliteCode(error) ?? '';
  const message = error instanceof Error ? error.message : String(error);
  const wayOut = WAYS_OUT.find(([prefix]) => code.startsWith(prefix))?.[1];
  return {
    _tag: 'LogUnavailable',
    message: `the log ${path} is unavailable (${message})${wayOut === undefined ? '' : `: ${wayOut}`}`,
    outcomeUnknown,
  };
};
