/** The tree of commands, options and help; every action loads its command when it is called. */
import { Command, CommanderError, Option } from 'commander';
import * as E from 'fp-ts/lib/Either.js';
import { buildReasonRegistry } from '../domain/reasons.js';
import { TERMINAL_STATUSES, STATUSES } from '../domain/status.js';
import { EXIT } from './exit.js';
import { complain } from './invocation.js';
import type { GlobalOptions, Handler } from './invocation.js';
import { VERSION } from './version.js';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

/** Parses the arguments and runs the command; answers the exit code. */
export const runProgram = async (argv: readonly string[]): Promise<number> => {
  let exitCode: number = EXIT.done;
  const program = buildProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help that was asked for; a bare command that has sub-commands shows help as well and is a usage error.
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
};

const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export const buildProgram = (finish: (exitCode: number) => void): Command => {
  const program = new Command('session-ledger');
  const act =
    (load: () => Promise<{ readonly run: Handler }>) =>
    async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      const { run } = await load();
      const globals = readGlobals(program);
      if (globals === null) {
        finish(EXIT.usage);
        return;
      }
      finish(await run({ globals, args: command.args, options: ownOptions(command, program) }));
    };

  program
    .description(
      'The ledger of agent sessions: opened, ended, resumed under the same identity, and never silent about it.',
    )
    .version(VERSION, '-V, --version')
    .addOption(
      new Option(
        '--store <url>',
        'the log: sqlite:PATH or memory: (default: sqlite in the state directory)',
      ).env('SESSION_LEDGER_STORE'),
    )
    .addOption(
      new Option(
        '--state-dir <dir>',
        'where logs and keys are (default: $XDG_STATE_HOME/session-ledger)',
      ).env('SESSION_LEDGER_STATE_DIR'),
    )
    .addOption(
      new Option('--actor <name>', 'who acts: ID or TYPE:ID (default: the user)').env('SESSION_LEDGER_ACTOR'),
    )
    .addOption(
      new Option('--log-level <level>', `logs on stderr: ${LOG_LEVELS.join(', ')}`)
        .env('SESSION_LEDGER_LOG_LEVEL')
        .default('warn'),
    )
    .option('--json', 'print JSON (also SESSION_LEDGER_JSON=1)')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      outputError: (text, write) => {
        write(
          `session-ledger: ${text
            .replace(/^error: /, '')
            .trim()
            .replaceAll(/\s*\n\s*/g, ' ')} (see --help)\n`,
        );
      },
    })
    .exitOverride()
    .addHelpText(
      'after',
      example([
        ['session-ledger run --branch review -- my-agent --task review', 'run a command as a leg'],
        [
          'session-ledger resume review --notify "notify-send {status}" -- my-agent',
          'resume it, be told when it ends',
        ],
        ['session-ledger history review', 'who closed and reopened it, when and why'],
        ['session-ledger audit overrides', 'every exit from a terminal status'],
      ]),
    );

  const withGuards = (command: Command): Command =>
    command
      .option('--expect-revision <n>', 'write only if the session is at this revision')
      .option('--expect-status <status>', 'write only if the session has this status (repeatable)', collect)
      .option('--command-id <uuid>', 'makes a retry harmless: the same id gives the first outcome again');

  const withLeg = (command: Command): Command =>
    command
      .option(
        '--notify <template>',
        'a command to run when the session ends; words are split without a shell (repeatable)',
        collect,
      )
      .option('--timeout <duration>', 'end the command after this time: 90s, 15m, 2h')
      .option('--resume-on-timeout <n>', 'try again up to this often after a timeout')
      .option('--require-output', 'an end without output on stdout is completed_empty')
      .option('--meta <key=value>', 'metadata of the session (repeatable)', collect);

  withLeg(
    program
      .command('run')
      .description('run a command as the first leg of a new session; exits with its code')
      .argument('<cmd...>', 'the command and its arguments, after --')
      .option('--branch <name>', 'the name to resume it by (default: the session id)')
      .option('--session <id>', 'the id of the new session (default: a UUIDv7)'),
  )
    .addHelpText(
      'after',
      example([
        ['session-ledger run --branch review -- my-agent --task review', ''],
        ["session-ledger run --notify 'my-inbox add {status} {session_id}' -- make test", ''],
        ['session-ledger run --timeout 30m --resume-on-timeout 2 -- my-agent', ''],
      ]),
    )
    .action(act(() => import('./commands/run.js')));

  withLeg(
    program
      .command('resume')
      .description('run a command as the next leg of a branch or session; exits with its code')
      .argument('<branch-or-session>')
      .argument('<cmd...>', 'the command and its arguments, after --')
      .option('--exclusive', 'refuse (exit 75) when a leg is running, instead of running beside it'),
  )
    .addHelpText('after', example([['session-ledger resume review -- my-agent --continue', '']]))
    .action(act(() => import('./commands/resume.js')));

  withGuards(
    program
      .command('open')
      .description('open a session and print its id: the first step of `run`, for legs in any language')
      .option('--branch <name>', 'the name to resume it by (default: the session id)')
      .option('--session <id>', 'the id of the new session (default: a UUIDv7)')
      .option('--pid <pid>', 'the process of the leg (default: the process that called this command)')
      .option('--no-process', 'no process stands for this leg; no sweep judges it')
      .option('--notify <template>', 'a command to run when the session ends (repeatable)', collect)
      .option('--meta <key=value>', 'metadata of the session (repeatable)', collect),
  )
    .addHelpText('after', example([['id=$(session-ledger open --branch review)', '']]))
    .action(act(() => import('./commands/open.js')));

  withGuards(
    program
      .command('close')
      .description('end a leg: the last step of `run`')
      .argument('<id>', 'the session, by id, unique prefix, or branch')
      .option('--leg <n>', 'the leg that ends; if the session has moved on, that is a conflict')
      .requiredOption('--status <status>', TERMINAL_STATUSES.join(', '))
      .option('--reason <code>', 'a registered reason code (default: that of the status)')
      .option('--summary <text>', 'free text', '')
      .option('--exit-code <n>', 'the exit code of the leg')
      .option('--override', 'change one terminal status into another; needs --justification')
      .option('--justification <text>', 'why the terminal status is overridden'),
  )
    .addHelpText(
      'after',
      example([
        ['session-ledger close $id --leg 1 --status completed', ''],
        ['session-ledger close $id --status failed --override --justification "the report was empty"', ''],
      ]),
    )
    .action(act(() => import('./commands/close.js')));

  withGuards(
    program
      .command('reopen')
      .description('reopen an ended session for a new leg: the first step of `resume`')
      .argument('<id>', 'the session, by id, unique prefix, or branch')
      .option('--pid <pid>', 'the process of the leg (default: the process that called this command)')
      .option('--no-process', 'no process stands for this leg; no sweep judges it')
      .option('--justification <text>', 'why it is reopened')
      .option('--notify <template>', 'a command to run when the session ends (repeatable)', collect)
      .option('--meta <key=value>', 'metadata of the session (repeatable)', collect),
  )
    .addHelpText('after', example([['session-ledger reopen $id --justification "second review round"', '']]))
    .action(act(() => import('./commands/reopen.js')));

  withGuards(
    program
      .command('note')
      .description('append a reason without changing the status; `note --help` lists the codes')
      .argument('<id>', 'the session, by id, unique prefix, or branch')
      .requiredOption('--reason <code>', 'a registered reason code')
      .option('--summary <text>', 'free text', ''),
  )
    .addHelpText('after', () => reasonHelp())
    .action(act(() => import('./commands/note.js')));

  program
    .command('list')
    .description('sessions, latest leg first')
    .option('--status <status>', STATUSES.join(', '))
    .option('--branch <name>', 'sessions of this branch')
    .option('--since <time>', 'legs started since: 2026-01-31, 2026-01-31T09:30:00Z, or 24h')
    .option('--limit <n>', 'at most this many (default: 50 on a terminal, all elsewhere)')
    .addHelpText(
      'after',
      example([
        ['session-ledger list --status running', ''],
        ['session-ledger list --since 24h --json', ''],
      ]),
    )
    .action(act(() => import('./commands/list.js')));

  program
    .command('show')
    .description('one session: its row, legs and notices')
    .argument('<id>', 'the session, by id, unique prefix, or branch')
    .addHelpText('after', example([['session-ledger show review', '']]))
    .action(act(() => import('./commands/show.js')));

  program
    .command('history')
    .description('every event of a session in order: which leg, who and why')
    .argument('<id>', 'the session, by id, unique prefix, or branch')
    .option('--follow', 'go on with what happens next')
    .addHelpText(
      'after',
      example([
        ['session-ledger history review', ''],
        ['session-ledger history review --follow --json', ''],
      ]),
    )
    .action(act(() => import('./commands/history.js')));

  program
    .command('watch')
    .description('status changes as they happen, of one session or of all')
    .argument('[id]', 'the session, by id, unique prefix, or branch')
    .addHelpText('after', example([['session-ledger watch', '']]))
    .action(act(() => import('./commands/watch.js')));

  program
    .command('wait')
    .description(
      'wait until sessions end; exit 0 when all ended well, 1 when not, 2 not found, 3 interrupted, 124 timeout',
    )
    .argument('<id...>', 'sessions, by id, unique prefix, or branch')
    .option('--any', 'until the first of them ends')
    .option('--timeout <duration>', 'give up after this time: 90s, 15m, 2h')
    .addHelpText('after', example([['session-ledger wait review build --timeout 1h', '']]))
    .action(act(() => import('./commands/wait.js')));

  const audit = program.command('audit').description('overrides and rejections: who, when, why');
  audit
    .command('overrides')
    .description('every exit from a terminal status')
    .option('--session <id>', 'of this session')
    .option('--actor <name>', 'by this actor')
    .option('--since <time>', 'not before: 2026-01-31, 2026-01-31T09:30:00Z, or 24h')
    .option('--until <time>', 'not after')
    .addOption(new Option('--format <format>', 'how to print').choices(['table', 'json', 'csv']))
    .addHelpText('after', example([['session-ledger audit overrides --since 30d --format csv', '']]))
    .action(act(() => import('./commands/auditOverrides.js')));
  audit
    .command('rejections')
    .description('refused exits from a terminal status')
    .option('--session <id>', 'of this session')
    .option('--since <time>', 'not before: 2026-01-31, 2026-01-31T09:30:00Z, or 24h')
    .option('--until <time>', 'not after')
    .addHelpText('after', example([['session-ledger audit rejections --session $id', '']]))
    .action(act(() => import('./commands/auditRejections.js')));

  program
    .command('deliver')
    .description('send every notice that is still owed, once each')
    .addHelpText('after', example([['session-ledger deliver', 'for example from cron, or after a crash']]))
    .action(act(() => import('./commands/deliver.js')));

  const projections = program
    .command('projections')
    .description('the read model: what is derived from the log');
  projections
    .command('status')
    .description('how far the read model has got')
    .addHelpText('after', example([['session-ledger projections status --json', '']]))
    .action(act(() => import('./commands/projectionsStatus.js')));
  projections
    .command('rebuild')
    .description('derive everything from the log again, beside the live tables; nothing is sent twice')
    .addHelpText('after', example([['session-ledger projections rebuild', '']]))
    .action(act(() => import('./commands/projectionsRebuild.js')));

  program
    .command('status')
    .description('the ledger at a glance: sessions, notices, irregular events')
    .addHelpText('after', example([['session-ledger status', '']]))
    .action(act(() => import('./commands/status.js')));

  program
    .command('demo')
    .description('three real legs of one session, one of them killed and taken over, in a throw-away ledger')
    .argument('[cmd...]', 'your own command as the leg, after --')
    .addHelpText(
      'after',
      example([
        ['session-ledger demo', ''],
        ['session-ledger demo -- make test', ''],
      ]),
    )
    .action(act(() => import('./commands/demo.js')));

  program
    .command('completion')
    .description('a completion script for your shell')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', example([['source <(session-ledger completion bash)', '']]))
    .action(act(() => import('./commands/completion.js')));

  return program;
};

/** `--actor` on the line of a command that has a filter of this name is that filter: commander gives it to the program. */
const ownOptions = (command: Command, program: Command): Readonly<Record<string, unknown>> => {
  const filtersByActor = command.options.some((option) => option.attributeName() === 'actor');
  const onLine = program.getOptionValueSource('actor') === 'cli';
  return filtersByActor && onLine
    ? { ...command.opts(), actor: program.opts()['actor'] as string }
    : command.opts();
};

const readGlobals = (program: Command): GlobalOptions | null => {
  const { store, stateDir, actor, logLevel, json } = program.opts<
    Omit<GlobalOptions, 'json'> & { json?: boolean }
  >();
  if (!LOG_LEVELS.includes(logLevel)) {
    complain(EXIT.usage, `--log-level: unknown level "${logLevel}": use ${LOG_LEVELS.join(', ')}`);
    return null;
  }
  const jsonByEnvironment = /^(1|true|yes|on)$/i.test(process.env['SESSION_LEDGER_JSON'] ?? '');
  return { store, stateDir, actor, logLevel, json: json ?? jsonByEnvironment };
};

const example = (lines: readonly (readonly [string, string])[]): string =>
  `\nExamples:\n${lines.map(([call, what]) => `  $ ${call}${what === '' ? '' : `   # ${what}`}`).join('\n')}`;

const reasonHelp = (): string => {
  const registry = buildReasonRegistry();
  if (E.isLeft(registry)) return '';
  const lines = registry.right.all.map(({ code, meaning }) => `  ${code.padEnd(36)} ${meaning}`);
  return `\nReason codes (the configuration file can add more):\n${lines.join('\n')}`;
};
