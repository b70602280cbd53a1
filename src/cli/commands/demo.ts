/** `demo`: three real legs of one session in a throw-away ledger; the second is killed -9 and the third takes over. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf } from '../../process/descendants.js';
import { EXIT } from '../exit.js';
import { complain } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { out } from '../print.js';

const BRANCH = 'demo';

/** The leg that is to be killed holds on after its command, so that there is a process to kill. */
const HOLD_ON = `
  const { spawnSync } = require('node:child_process');
  const [command, ...args] = process.argv.slice(1);
  spawnSync(command, args, { stdio: 'inherit' });
  console.log('(leg 2 goes on working …)');
  setInterval(() => {}, 1000);
`;

const sayAs = (leg: string) => ['sh', '-c', `echo "hello from leg ${leg}, process $$"`];

export const run: Handler = async ({ args }) => {
  const directory = mkdtempSync(join(tmpdir(), 'session-ledger-demo-'));
  const inbox = join(directory, 'inbox.jsonl');
  const program = process.argv[1] ?? '';
  const own = args.length > 0 ? args : null;
  const ledger = (...words: readonly string[]) => [
    program,
    '--state-dir',
    join(directory, 'state'),
    ...words,
  ];
  const notify = ['--notify', `tee -a ${inbox}`];

  const show = (...words: readonly string[]): number => {
    out(`\n$ session-ledger ${words.map(quoted).join(' ')}`);
    return spawnSync(process.execPath, ledger(...words), { stdio: 'inherit' }).status ?? EXIT.failed;
  };

  out(`A ledger of its own in ${directory}`);
  show('run', '--branch', BRANCH, ...notify, '--', ...(own ?? sayAs('1')));

  out(`\n$ session-ledger resume ${BRANCH} …   # leg 2, which is killed -9 while it works`);
  const killed = await startAndKill(
    ledger('resume', BRANCH, ...notify, '--', process.execPath, '-e', HOLD_ON, ...(own ?? sayAs('2'))),
  );
  if (killed !== null) return complain(EXIT.failed, killed);
  out('(killed: nobody was there to close leg 2, and the ledger still says running)');

  const last = show('resume', BRANCH, ...notify, '--', ...(own ?? sayAs('3')));
  show('history', BRANCH);
  show('audit', 'overrides');
  show('show', BRANCH);

  const notices = readFileSync(inbox, 'utf8').trimEnd().split('\n');
  out(`\n${notices.length} notices arrived in ${inbox}:`);
  for (const notice of notices) out(`  ${summary(notice)}`);
  out('\nThe leg that was killed announced nothing, and the one that took over told the end.');
  return last === 0 || own !== null ? EXIT.done : EXIT.failed;
};

const quoted = (word: string): string =>
  /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const summary = (notice: string): string => {
  const { data } = JSON.parse(notice) as { data: { leg: number; status: string; previousStatus: string } };
  return `leg ${data.leg}: ${data.previousStatus} → ${data.status}`;
};

const START_LIMIT_MS = 60_000;

/** Starts a leg, waits until its command works, then kills the leg's process and the command. Null when that was done. */
const startAndKill = async (argv: readonly string[]): Promise<string | null> => {
  const leg = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const working = await says(leg, 'goes on working');
  if (!working || leg.pid === undefined) {
    leg.kill('SIGKILL');
    return 'the second leg ended before it could be killed';
  }
  const command = descendantsOf(leg.pid);
  leg.kill('SIGKILL');
  for (const pid of command) killIfThere(pid);
  await delay(200);
  return null;
};

const says = (leg: ChildProcess, words: string): Promise<boolean> =>
  new Promise((resolve) => {
    let said = '';
    const limit = setTimeout(() => {
      resolve(false);
    }, START_LIMIT_MS);
    const answer = (working: boolean) => {
      clearTimeout(limit);
      resolve(working);
    };
    leg.stdout?.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk);
      said += chunk.toString('utf8');
      if (said.includes(words)) answer(true);
    });
    leg.once('exit', () => {
      answer(false);
    });
  });

const killIfThere = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
};
