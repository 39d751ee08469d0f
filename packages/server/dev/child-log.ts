import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Progress } from './steps.ts'

const keptLines = 30
/** A child that has ended may leave processes that hold its outputs open. */
const drainMs = 1_000

type Line = { readonly text: string; readonly stream: 'stdout' | 'stderr' }
type LogOptions = {
  readonly streams: readonly Line['stream'][]
  readonly show: (line: Line) => void
}

/**
 * Reads what a child writes. Its lines are held until `release`, so that they do not break the line of progress. The last
 * ones are kept for the report of a failure.
 */
export const keepLog = (child: ChildProcess, { streams, show }: LogOptions) => {
  const last: string[] = []
  let held: Line[] | undefined = []
  for (const stream of streams) {
    const input = child[stream]
    if (input === null) continue
    createInterface({ input }).on('line', (text) => {
      last.push(text)
      if (last.length > keptLines) last.shift()
      if (held) held.push({ text, stream })
      else show({ text, stream })
    })
  }
  const closed = new Promise((resolve) => child.once('close', resolve))
  return {
    /** Shows what was held. With `isStarted`, what follows is shown as it comes. */
    release: (isStarted: boolean): void => {
      for (const line of held ?? []) show(line)
      held = isStarted ? undefined : []
    },
    /** The last lines of a child that has ended. */
    readEnd: async (): Promise<string> => {
      await Promise.race([closed, sleep(drainMs, undefined, { ref: false })])
      return last.length === 0
        ? 'It wrote nothing.'
        : `The last lines that it wrote:\n\n${last.map((line) => `  ${line}`).join('\n')}\n`
    },
  }
}
export type ChildLog = ReturnType<typeof keepLog>

const probeMs = 30_000
const pauseMs = 100

/** How a child ended. */
export const endOf = ({ exitCode, signalCode }: ChildProcess): string =>
  exitCode === null ? `ended with ${signalCode ?? 'no exit code'}` : `ended with exit code ${exitCode}`

/** What keeps a server from being ready; undefined where it is ready. */
const ask = async (url: string): Promise<string | undefined> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(probeMs) })
    const answer = (await response.text()).trim().replaceAll('\n', '; ')
    return response.ok ? undefined : `answers ${response.status}: ${answer.slice(0, 200)}`
  } catch {
    return 'does not listen yet'
  }
}

/** Waits until the server answers 200, however long that takes. It fails when the child ends. */
export const waitUntilReady = async (
  url: string,
  child: ChildProcess,
  { log, progress }: { readonly log: ChildLog; readonly progress: Progress },
): Promise<void> => {
  progress.beforeLine(() => log.release(false))
  const ended = new Promise<'ended'>((resolve) => child.once('exit', () => resolve('ended')))
  for (;;) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null
    const state = hasEnded ? 'ended' : await Promise.race([ask(url), ended])
    if (state === undefined) return log.release(true)
    if (state === 'ended')
      throw new Error(`the server ${endOf(child)} before it was ready. ${await log.readEnd()}`)
    progress.describe(`${new URL(url).pathname} ${state}`)
    await sleep(pauseMs)
  }
}
