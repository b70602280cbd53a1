/** Logs on stderr by pino: secrets redacted, pretty on a terminal, loaded when there is something to say. */
import { createRequire } from 'node:module';
import type * as PinoModule from 'pino';
import type * as PrettyModule from 'pino-pretty';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Logger {
  readonly debug: (fields: object, message: string) => void;
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
}

const ORDER: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

/** Keys that may hold what must reach no log, at the top and one level down. */
const SECRET_KEYS = [
  'secret',
  'password',
  'token',
  'authorization',
  'mac',
  'key',
  'template',
  'args',
  'env',
  'payload',
];

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export const makeLogger = (level: LogLevel): Logger => {
  let pino: PinoModule.Logger | null = null;
  const write = (at: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    if (ORDER.indexOf(at) < ORDER.indexOf(level)) return;
    pino ??= loadPino(level);
    pino[at](fields, message);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
};

const loadPino = (level: LogLevel): PinoModule.Logger => {
  const require = createRequire(import.meta.url);
  const { pino } = require('pino') as typeof PinoModule;
  const options = {
    level,
    base: null,
    redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`]), censor: '[redacted]' },
  };
  if (process.stderr.isTTY !== true) return pino(options, pino.destination({ dest: 2, sync: true }));
  const { PinoPretty: pretty } = require('pino-pretty') as typeof PrettyModule;
  return pino(
    options,
    pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }),
  );
};
