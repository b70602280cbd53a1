import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { completionScript, SHELLS } from '../../src/cli/completion.js';
import type { Shell } from '../../src/cli/completion.js';
import { buildProgram } from '../../src/cli/program.js';
import { temporaryDirectory } from '../support/temp.js';

/** How each shell is asked what it offers for the last of the words. */
const ASK: Readonly<Record<Shell, (file: string, words: readonly string[]) => readonly string[]>> = {
  bash: (file, words) => [
    '-c',
    `source '${file}'; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _session_ledger; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  // Outside of its line editor the emulation is asked directly; the editor would leave out what does not fit the word.
  zsh: (file, words) => [
    '-fc',
    `compdef() { }; source '${file}'; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; compgen -F _session_ledger | grep -- '^'${words.at(-1) ?? ''} || true`,
  ],
  fish: (file, words) => [
    '--no-config',
    '-c',
    `source '${file}'; complete -C "${words.join(' ').replaceAll("''", '')}"`,
  ],
};

const completer = (shell: Shell, program: Command) => {
  const directory = temporaryDirectory();
  const file = join(directory, `completion.${shell}`);
  writeFileSync(file, completionScript(shell, program));
  return (...words: readonly string[]): readonly string[] =>
    execFileSync(shell, [...ASK[shell](file, ['session-ledger', ...words])], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    })
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')
      .filter((offered) => offered !== '');
};

const NOTHING = "''";

describe.each(SHELLS)('completion in %s', (shell) => {
  const installed = spawnSync(shell, ['-c', 'exit 0']).status === 0;

  it(`follows the tree of commands${installed ? '' : ` (NOT TRIED: ${shell} is not installed here)`}`, ({
    skip,
  }) => {
    if (!installed) skip(`${shell} is not installed`);
    const complete = completer(
      shell,
      buildProgram(() => undefined),
    );
    expect([...complete('re')].sort()).toEqual(['reopen', 'resume']);
    expect([...complete('audit', NOTHING)]).toEqual(expect.arrayContaining(['overrides', 'rejections']));
    expect(complete('audit', 'o')).toEqual(['overrides']);
    expect(complete('run', '--not')).toEqual(['--notify']);
    expect(complete('run', '--excl')).toEqual([]);
    expect([...complete('list', '--sta')].sort()).toEqual(['--state-dir', '--status']);
  });

  it(`offers the values of options${installed ? '' : ` (NOT TRIED: ${shell} is not installed here)`}`, ({
    skip,
  }) => {
    if (!installed) skip(`${shell} is not installed`);
    const program = new Command('session-ledger').addOption(
      new Option('--level <level>', "it's a level").choices(['low', 'high']),
    );
    program.command('show').description('a `command` with $signs and "quotes"');
    program
      .command('audit')
      .command('overrides')
      .addOption(new Option('--format <format>', 'how to print').choices(['table', 'json']));
    const complete = completer(shell, program);
    expect([...complete('audit', 'overrides', '--format', NOTHING)].sort()).toEqual(['json', 'table']);
    expect(complete('audit', 'overrides', '--format', 'j')).toEqual(['json']);
    expect(complete('show', '--level', 'h')).toEqual(['high']);
    // What an option takes is no command, whatever it is called.
    expect(complete('--level', 'low', 's')).toEqual(['show']);
  });
});

describe('completion in bash', () => {
  const ours = () =>
    completer(
      'bash',
      buildProgram(() => undefined),
    );

  it('offers commands and files after --, and knows --option=value', () => {
    const complete = ours();
    expect(complete('run', '--', 'completion.b')).toEqual(['completion.bash']);
    expect(complete('run', '--branch', 'list', '--', 'bas')).toContain('bash');
    expect(complete('audit', 'overrides', '--format', '=', 'c')).toEqual(['csv']);
    expect(complete('audit', 'overrides', '--format', '=')).toEqual(['table', 'json', 'csv']);
  });

  it('offers nothing for a value that only the caller knows, and directories for a directory', () => {
    const complete = ours();
    expect(complete('run', '--branch', NOTHING)).toEqual([]);
    expect(complete('run', '--state-dir', '/us')).toEqual(['/usr']);
    expect(complete('--actor', 'list', 'show', '--f')).toEqual([]);
    expect(complete('--actor', 'list', 'history', '--f')).toEqual(['--follow']);
  });
});
