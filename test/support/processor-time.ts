/** Milliseconds that this thread has used a processor. Unlike a clock, it does not run while other programs have the machine. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
