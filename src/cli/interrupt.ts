/** For commands that go on until somebody stops them: SIGINT and SIGTERM end them in order. */
export const untilInterrupted = async (
  work: (signal: AbortSignal, stop: (reason: string) => void) => Promise<number>,
): Promise<number> => {
  const stop = new AbortController();
  const interrupt = () => {
    stop.abort('interrupted');
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await work(stop.signal, (reason) => {
      stop.abort(reason);
    });
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
};
