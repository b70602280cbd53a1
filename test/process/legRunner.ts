/** Runs one leg as its options say, and writes what was started and how it ended into a file. */
import { appendFileSync } from 'node:fs';
import { runLeg } from '../../src/process/runLeg.js';
import { catchStops } from '../../src/process/stops.js';

const { report, mark, ...options } = JSON.parse(process.argv[2] ?? '') as {
  report: string;
  mark: string;
  command: string;
  args: string[];
  timeoutMs?: number;
  graceMs?: number;
  watchOutput: boolean;
};
const tell = (value: unknown) => {
  appendFileSync(report, `${JSON.stringify(value)}\n`);
};

process.stdout.on('error', () => undefined);
const end = await runLeg({
  ...options,
  env: { ...process.env, LEG_MARK: mark },
  mark: `LEG_MARK=${mark}`,
  stops: catchStops(),
  onStarted: (child) => {
    tell({ started: child });
  },
});
tell({ end });
process.exitCode = end.exitCode;
