/** Asks until there is an answer and gives it back; fails after the deadline. For what goes on elsewhere. */
export const until = async <T>(
  what: string,
  ask: () => Promise<T | false | undefined>,
  deadlineMs = 30_000,
): Promise<T> => {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > deadline) throw new Error(`${what}: not within ${deadlineMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
