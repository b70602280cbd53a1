/** Why a log cannot be opened, and what to do about it. */
export type OpenError =
  | { readonly _tag: 'BadStore'; readonly store: string; readonly problem: string }
  | { readonly _tag: 'ForeignFile'; readonly path: string; readonly what: string }
  | { readonly _tag: 'DamagedFile'; readonly path: string; readonly problem: string }
  | { readonly _tag: 'NewerVersion'; readonly path: string; readonly found: number; readonly known: number }
  | { readonly _tag: 'NetworkFileSystem'; readonly path: string; readonly kind: string }
  | { readonly _tag: 'CannotOpen'; readonly path: string; readonly problem: string };

export const describeOpenError = (error: OpenError): string => {
  switch (error._tag) {
    case 'BadStore':
      return `--store ${JSON.stringify(error.store)}: ${error.problem}`;
    case 'ForeignFile':
      return `${error.path} is ${error.what}, not a ledger: it was left untouched; name another file with --store sqlite:PATH`;
    case 'DamagedFile':
      return `${error.path} is damaged (${error.problem}): it was left untouched; put a backup in its place`;
    case 'NewerVersion':
      return `${error.path} was written by a newer session-ledger (schema ${error.found}, this one knows ${error.known}): upgrade this program`;
    case 'NetworkFileSystem':
      return `${error.path} is on a network file system (${error.kind}), where SQLite's log can be corrupted: name a local directory with --state-dir or --store`;
    case 'CannotOpen':
      return `${error.path} cannot be opened: ${error.problem}`;
  }
};
