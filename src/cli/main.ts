#!/usr/bin/env node
/** The program `session-ledger`. The version is told before anything else is loaded; each command loads what it needs. */
import { tellVersion } from './version.js';

// A reader that closes the pipe (`| head`) has seen enough: not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// Whoever reads our words may leave; a leg that runs must not die of it.
process.stderr.on('error', () => undefined);

if (process.argv[2] === '--version' || process.argv[2] === '-V') {
  tellVersion();
} else {
  const { runProgram } = await import('./program.js');
  process.exitCode = await runProgram(process.argv);
}
