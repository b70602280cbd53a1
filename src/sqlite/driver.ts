/**
 * SQLite for the Node that runs: major 12 of better-sqlite3 on Node 20, where 13 crashes; 13, which is built on Node-API,
 * from Node 22 on, where 12 aborts the process when its objects are collected (Node 24; ADR 0011).
 */
import { createRequire } from 'node:module';
import type Database from 'better-sqlite3';

const load = (): typeof Database => {
  const major = Number(process.versions.node.split('.')[0]);
  const name = major >= 22 ? 'better-sqlite3-napi' : 'better-sqlite3';
  try {
    return createRequire(import.meta.url)(name) as typeof Database;
  } catch (error) {
    const message = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new Error(
      `SQLite's driver ${name} cannot be loaded (${message ?? ''}): install again with a C++ compiler and Python at hand, or use Node 22 or newer, which needs neither`,
      { cause: error },
    );
  }
};

export const Sqlite: typeof Database = load();
