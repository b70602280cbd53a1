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
import { carryOut, foresee } from './write.js';
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
  /** Somebody else may carry it out, or have done so. */
  published: boolean;
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
      while (takeTurn(open) === 'busy') {
        // Before it is published, so that a retry is known as one, and what would be refused troubles nobody.
        open = open.filter((job) => !answeredByTheLog(job));
        for (const job of open) publish(job);
        if (open.length === 0) return;
        if (Date.now() > deadline) {
          giveUp(open);
          return;
        }
        await delay(pause);
        pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS);
        open = open.filter((job) => !answeredByTheLog(job));
        if (open.length === 0) return;
      }
    } catch (error) {
      for (const job of open) withdraw(job);
      for (const job of open) job.answer(E.left(unavailable(options.path, error, job.published)));
    }
  };

  const publish = (job: Job): void => {
    if (job.file !== null || job.write._tag !== 'append') return;
    job.file = inbox.publish(job.write);
    if (job.file === null) return;
    job.published = true;
    options.onStep('published');
  };

  const withdraw = (job: Job): void => {
    if (job.file !== null) inbox.remove(job.file);
    job.file = null;
  };

  /** A job that does not lie in the inbox needs no turn when the log says already what it comes to. */
  const answeredByTheLog = (job: Job): boolean => {
    const { write } = job;
    if (write._tag !== 'append' || (job.file !== null && inbox.has(job.file))) return false;
    job.file = null;
    const written = readLog(() => foresee(sql, write));
    if (written !== null) job.answer(ownOutcome(job, written));
    return written !== null;
  };

  const readLog = (read: () => Written | null): Written | null => {
    try {
      return db.transaction(read)();
    } catch (error) {
      if (isBusy(error)) return null;
      throw error;
    }
  };

  /** Events that are there because somebody else carried out this very job are no repetition. */
  const ownOutcome = (job: Job, written: Written): Written =>
    job.published && E.isRight(written) ? E.right({ ...written.right, repeated: false }) : written;

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
        const written = ownOutcome(job, carryOutAlone(job.write));
        answers.push(() => {
          job.answer(written);
        });
      }
      for (const { file, write } of inbox.collect()) {
        carryOutAlone(write);
        files.push(file);
      }
      options.onStep('written');
    } catch (error) {
      if (db.inTransaction) sql.rollback.run();
      throw error;
    }
    try {
      sql.commit.run();
    } catch (error) {
      if (db.inTransaction) sql.rollback.run();
      // Its bytes may have reached the disk before the error did: after a crash they would count.
      for (const job of jobs) job.answer(E.left(unavailable(options.path, error, true)));
      return 'done';
    }
    options.onStep('committed');
    for (const file of files) inbox.remove(file);
    for (const answer of answers) answer();
    options.onCommit();
    return 'done';
  };

  /** A write that fails takes nothing with it of the others in the transaction. */
  const carryOutAlone = (write: Write): Written => {
    sql.beginOne.run();
    try {
      const written = carryOut(sql, write, options.now);
      sql.endOne.run();
      return written;
    } catch (error) {
      // On a full disk or after an I/O error SQLite may have given up the whole transaction.
      if (!db.inTransaction) throw error;
      sql.undoOne.run();
      sql.endOne.run();
      return E.left(unavailable(options.path, error, false));
    }
  };

  const giveUp = (jobs: readonly Job[]): void => {
    const seconds = Math.round(options.lockTimeoutMs / 100) / 10;
    for (const job of jobs) {
      withdraw(job);
      const error: LogError = {
        _tag: 'LogUnavailable',
        message: `the log ${options.path} has been locked by another process for ${seconds} s: a stopped or stuck process holds it; continue or end that process, then try again`,
        outcomeUnknown: job.published,
      };
      job.answer(E.left(error));
    }
  };

  return {
    write: (write) =>
      new Promise((resolve) => {
        queue.push({ write, answer: resolve, file: null, published: false });
        working ??= work();
      }),
    idle: async () => {
      while (working !== null) await working;
    },
  };
};
