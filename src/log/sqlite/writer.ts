/**
 * One writer a process: what is asked for at the same time shares a commit, and whoever gets the write lock carries
 * out what other processes wait for along with its own, so that nobody starves and SQLITE_BUSY reaches no caller.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import type { LogError } from '../port.js';
import { isBusy, unavailable } from './errors.js';
import type { Inbox } from './inbox.js';
import type { Statements } from './statements.js';
import { carryOut, lookUp } from './write.js';
import type { Write, Written } from './write.js';

export interface WriterOptions {
  readonly path: string;
  readonly now: () => number;
  /** How long a taken lock is waited for, in milliseconds. */
  readonly lockTimeoutMs: number;
  /** Called at each named step; tests stop a process there. */
  readonly onStep: (step: WriterStep) => void;
  readonly onCommit: () => void;
}

export type WriterStep = 'published' | 'locked' | 'written' | 'committed';

export interface Writer {
  readonly write: (write: Write) => Promise<Written>;
  /** Resolves when nothing is under way any more. */
  readonly idle: () => Promise<void>;
}

interface Job {
  readonly write: Write;
  readonly answer: (written: Written) => void;
  /** Its file in the inbox, while it waits there. */
  file: string | null;
}

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 2;

export const makeWriter = (
  db: Database.Database,
  sql: Statements,
  inbox: Inbox,
  options: WriterOptions,
): Writer => {
  let queue: Job[] = [];
  let working: Promise<void> | null = null;

  const work = async (): Promise<void> => {
    // One turn of the event loop: whatever is asked for meanwhile shares the commit.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0) {
      const jobs = queue;
      queue = [];
      await finish(jobs);
    }
    // In the same turn as the look at the queue: what is asked for from here on starts anew.
    working = null;
  };

  /** Answers every job: by our own transaction, or by somebody else's. */
  const finish = async (jobs: readonly Job[]): Promise<void> => {
    let open = jobs;
    let pause = FIRST_PAUSE_MS;
    const deadline = Date.now() + options.lockTimeoutMs;
    try {
      for (;;) {
        const turn = takeTurn(open);
        if (turn === 'done') return;
        for (const job of open) publish(job);
        if (Date.now() > deadline) {
          giveUp(open);
          return;
        }
        await delay(pause);
        pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS);
        open = open.filter((job) => !answeredByOthers(job));
        if (open.length === 0) return;
      }
    } catch (error) {
      const outcomeUnknown = open.some((job) => job.file !== null);
      for (const job of open) withdraw(job);
      for (const job of open) job.answer(E.left(unavailable(options.path, error, outcomeUnknown)));
    }
  };

  const publish = (job: Job): void => {
    if (job.file !== null || job.write._tag !== 'append') return;
    job.file = inbox.publish(job.write);
    options.onStep('published');
  };

  const withdraw = (job: Job): void => {
    if (job.file !== null) inbox.remove(job.file);
    job.file = null;
  };

  /** A file that is gone was carried out or refused; the database tells, and a refused one is tried by ourselves. */
  const answeredByOthers = (job: Job): boolean => {
    if (job.file === null || job.write._tag !== 'append' || inbox.has(job.file)) return false;
    job.file = null;
    const written = lookUp(sql, job.write);
    if (written !== null) job.answer(written);
    return written !== null;
  };

  /** `busy` when somebody else has the write lock. Throws what keeps the transaction from being written. */
  const takeTurn = (jobs: readonly Job[]): 'done' | 'busy' => {
    try {
      sql.begin.run();
    } catch (error) {
      if (isBusy(error)) return 'busy';
      throw error;
    }
    options.onStep('locked');
    const answers: (() => void)[] = [];
    const files: string[] = [];
    try {
      for (const job of jobs) {
        withdraw(job);
        const written = carryOut(sql, job.write, options.now);
        answers.push(() => {
          job.answer(written);
        });
      }
      for (const { file, write } of inbox.collect()) {
        carryOut(sql, write, options.now);
        files.push(file);
      }
      options.onStep('written');
      sql.commit.run();
    } catch (error) {
      if (db.inTransaction) sql.rollback.run();
      throw error;
    }
    options.onStep('committed');
    for (const file of files) inbox.remove(file);
    for (const answer of answers) answer();
    options.onCommit();
    return 'done';
  };

  const giveUp = (jobs: readonly Job[]): void => {
    const seconds = Math.round(options.lockTimeoutMs / 100) / 10;
    const published = jobs.some((job) => job.file !== null);
    for (const job of jobs) withdraw(job);
    const error: LogError = {
      _tag: 'LogUnavailable',
      message: `the log ${options.path} has been locked by another process for ${seconds} s: a stopped or stuck process holds it; continue or end that process, then try again`,
      outcomeUnknown: published,
    };
    for (const job of jobs) job.answer(E.left(error));
  };

  return {
    write: (write) =>
      new Promise((resolve) => {
        queue.push({ write, answer: resolve, file: null });
        working ??= work();
      }),
    idle: async () => {
      while (working !== null) await working;
    },
  };
};
