/** For commands that go on until somebody stops them: SIGINT and SIGTERM end them in order. */
export const untilInterrupted = async (work: (signal: AbortSignal) => Promise<number>): Promise<number> => {
  const stop = new AbortController();
  const interrupt = () => {
    stop.abort('interrupted');
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
};
