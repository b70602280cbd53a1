/** Completion scripts for bash, zsh and fish, made from the tree of commands. */
import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Node {
  /** The words that lead here: `` for the program, `audit overrides` … */
  readonly path: string;
  readonly commands: readonly Command[];
  readonly options: readonly string[];
}

/** The script; words are those of the program's own help. */
export const completionScript = (shell: Shell, program: Command): string => {
  const nodes = nodesOf(program, '');
  switch (shell) {
    case 'bash':
      return bash(nodes);
    case 'zsh':
      return `#compdef session-ledger\nautoload -U +X bashcompinit && bashcompinit\n${bash(nodes)}`;
    case 'fish':
      return fish(nodes);
  }
};

const nodesOf = (command: Command, path: string): readonly Node[] => [
  {
    path,
    commands: command.commands,
    options: command
      .createHelp()
      .visibleOptions(command)
      .flatMap(({ long }) => (long == null ? [] : [long])),
  },
  ...command.commands.flatMap((child) =>
    nodesOf(child, path === '' ? child.name() : `${path} ${child.name()}`),
  ),
];

const bash = (nodes: readonly Node[]): string => {
  const [root] = nodes;
  const global = root?.options ?? [];
  const cases = nodes.map(({ path, commands, options }) => {
    const words = [...commands.map((command) => command.name()), ...new Set([...options, ...global])];
    return `    '${path}') words='${words.join(' ')}' ;;`;
  });
  return `_session_ledger() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' words='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    [[ "$word" == '--' ]] && { COMPREPLY=($(compgen -c -f -- "$current")); return; }
    case "\${path:+$path }$word" in
      ${nodes.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`])).join('|')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _session_ledger session-ledger
`;
};

const fish = (nodes: readonly Node[]): string => {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const seen = path.split(' ').filter((word) => word !== '');
    const condition =
      seen.length === 0
        ? '__fish_use_subcommand'
        : seen.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    return [
      ...commands.map(
        (command) =>
          `complete -c session-ledger -f -n ${quote(condition)} -a ${command.name()} -d ${quote(command.description())}`,
      ),
      ...options.map((option) =>
        path === ''
          ? `complete -c session-ledger -l ${option.slice(2)}`
          : `complete -c session-ledger -n ${quote(condition)} -l ${option.slice(2)}`,
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
};
