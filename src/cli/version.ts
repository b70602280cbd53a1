/** The version that the build wrote into the program. */
export const VERSION = process.env['SESSION_LEDGER_VERSION_BUILT'] ?? '0.0.0-source';

export const tellVersion = (): void => {
  process.stdout.write(`${VERSION}\n`);
};
