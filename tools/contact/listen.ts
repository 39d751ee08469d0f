import type { Server } from 'node:http'
import { StepFailure } from './steps.ts'

/** A browser may hold a connection open on which it sends nothing. */
const closeMs = 1_000

/** Listens, and returns what ends it after the answers that are under way. */
export const listen = async (
  server: Server,
  port: number,
  host = '127.0.0.1',
): Promise<() => Promise<void>> => {
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, host, resolve),
  ).catch((cause: unknown) => {
    throw new StepFailure(
      `port ${port} of ${host} cannot be opened`,
      'End the program that uses it, or choose another with --port.',
      { cause },
    )
  })
  return async () => {
    const timer = setTimeout(() => server.closeAllConnections(), closeMs)
    await new Promise<void>((resolve) => server.close(() => resolve()))
    clearTimeout(timer)
  }
}
