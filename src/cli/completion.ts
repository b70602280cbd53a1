/** Completion scripts for bash, zsh and fish, made from the tree of commands; they run nothing of ours. */
import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Node {
  /** The words that lead here: `` for the program, `audit overrides` … */
  readonly path: string;
  readonly commands: readonly Command[];
  /** Its own, without those that every command has. */
  readonly options: readonly Option[];
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
  { path, commands: command.commands, options: command.createHelp().visibleOptions(command) },
  ...command.commands.flatMap((child) =>
    nodesOf(child, path === '' ? child.name() : `${path} ${child.name()}`),
  ),
];

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const distinct = (words: readonly string[]): string => [...new Set(words)].join(' ');

const flagOf = ({ long, short }: Option): string => long ?? short ?? '';

/** By the name of its value: `--state-dir <dir>`. */
const takesDirectory = ({ flags }: Option): boolean => /<dir>/.test(flags);

const takesValue = ({ required, optional }: Option): boolean => required || optional;

/** Also for zsh, by its emulation; so no variable is named like one of zsh's own (`path`, `words`). */
const bash = (nodes: readonly Node[]): string => {
  const all = nodes.flatMap(({ options }) => options);
  const everywhere = (nodes[0]?.options ?? []).map(flagOf);
  const valued = all.filter(takesValue);
  const paths = nodes.flatMap(({ path }) => (path === '' ? [] : [quoted(path)]));
  const values = nodes.flatMap(({ path, options }) =>
    options.flatMap((option) => {
      const at = path === '' ? `*' ${flagOf(option)}'` : quoted(`${path} ${flagOf(option)}`);
      if (option.argChoices !== undefined)
        return [`      ${at}) offered=${quoted(option.argChoices.join(' '))} ;;`];
      return takesDirectory(option)
        ? [`      ${at}) COMPREPLY=($(IFS=$'\\n'; compgen -d -- "$current")); return ;;`]
        : [];
    }),
  );
  const words = nodes.map(({ path, commands, options }) => {
    const here = distinct([
      ...commands.map((command) => command.name()),
      ...options.map(flagOf),
      ...everywhere,
    ]);
    return `      ${quoted(path)}) offered=${quoted(here)} ;;`;
  });
  return `_session_ledger() {
  local current="\${COMP_WORDS[COMP_CWORD]}" node='' awaited='' offered='' word i
  local IFS=$' \\t\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    # bash takes --option=value apart.
    [[ "$word" == '=' ]] && continue
    if [[ -n "$awaited" ]]; then awaited=''; continue; fi
    if [[ "$word" == '--' ]]; then
      IFS=$'\\n'
      COMPREPLY=($(compgen -c -- "$current"; compgen -f -- "$current"))
      compopt -o filenames 2>/dev/null
      return
    fi
    case "$word" in
      ${distinct(valued.map(flagOf)).replaceAll(' ', '|')}) awaited="$word"; continue ;;
    esac
    case "\${node:+$node }$word" in
      ${paths.join('|')}) node="\${node:+$node }$word" ;;
    esac
  done
  if [[ -n "$awaited" ]]; then
    [[ "$current" == '=' ]] && current=''
    case "$node $awaited" in
${values.join('\n')}
    esac
  else
    case "$node" in
${words.join('\n')}
    esac
  fi
  [[ -n "$offered" ]] && COMPREPLY=($(compgen -W "$offered" -- "$current"))
  return 0
}
complete -F _session_ledger session-ledger
`;
};

const fish = (nodes: readonly Node[]): string => {
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const seen = path.split(' ').filter((word) => word !== '');
    const reached = seen.map((word) => `__fish_seen_subcommand_from ${word}`);
    const open =
      commands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names(commands).join(' ')}`];
    return [
      ...commands.map(
        (command) =>
          `complete -c session-ledger -f -n ${fishQuoted([...reached, ...open].join('; and '))} -a ${command.name()} -d ${fishQuoted(command.description())}`,
      ),
      ...options.map((option) => {
        const when = reached.length === 0 ? '' : ` -n ${fishQuoted(reached.join('; and '))}`;
        return `complete -c session-ledger${when} -l ${flagOf(option).slice(2)}${fishValue(option)} -d ${fishQuoted(option.description)}`;
      }),
    ];
  });
  return `${lines.join('\n')}\n`;
};

const names = (commands: readonly Command[]): readonly string[] => commands.map((command) => command.name());

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const fishValue = (option: Option): string => {
  if (option.argChoices !== undefined) return ` -x -a ${fishQuoted(option.argChoices.join(' '))}`;
  if (takesDirectory(option)) return " -x -a '(__fish_complete_directories)'";
  return takesValue(option) ? ' -x' : '';
};
