import { basename } from 'node:path'
import { parentPort, Worker } from 'node:worker_threads'

type ThreadOptions = {
  /** The file that calls `serveThread`. */
  readonly program: URL
  /** A call that comes when so many wait is rejected with `fullError`. */
  readonly waitingMax: number
  /** A thread that answers nothing for so long is ended, and every call that waits for it is rejected. */
  readonly silentMsMax: number
  /** The same for a thread that loads its program. */
  readonly loadMsMax?: number
  readonly fullError: () => Error
}
type PendingCall = { readonly resolve: (value: unknown) => void; readonly reject: (reason: unknown) => void }
type Answer = { readonly number: number } & ({ readonly value: unknown } | { readonly error: string })

/** A thread sends it before its first answer. */
const loaded = 'loaded'
/** On a machine with a load of 19 a program took more than 10 s to load; ended then, it would be loaded again by each call. */
const defaultLoadMsMax = 60_000

/** The program failed for this input, and would again. */
export class ThreadTaskError extends Error {}

/** A thread that runs one program; calls are answered in the order in which they came. */
export type Thread<In, Out> = {
  readonly run: (input: In) => Promise<Out>
  /** Starts the thread, so that the first call does not wait for it. */
  readonly start: () => void
}

const silenceLimit = ({ silentMsMax, loadMsMax = defaultLoadMsMax }: ThreadOptions, isLoaded: boolean) =>
  isLoaded ? { ms: silentMsMax, what: 'answered nothing' } : { ms: loadMsMax, what: 'did not load' }

const settle = (call: PendingCall | undefined, answer: Answer, name: string): void => {
  if ('value' in answer) call?.resolve(answer.value)
  else call?.reject(new ThreadTaskError(`${name} failed on an input: ${answer.error}`))
}

/**
 * Runs a program on a thread, for work that would hold up the requests of this process. The thread starts with the first
 * call. If it ends, the calls that wait are rejected and the next call starts another one. It has no environment variables.
 */
export const makeThread = <In, Out>(options: ThreadOptions): Thread<In, Out> => {
  const name = `thread ${basename(options.program.pathname)}`
  const pending = new Map<number, PendingCall>()
  let worker: Worker | undefined
  let lastNumber = 0
  let silence: NodeJS.Timeout | undefined
  let isLoaded = false

  const end = (ended: Worker, error: Error): void => {
    if (worker !== ended) return
    worker = undefined
    clearTimeout(silence)
    for (const { reject } of pending.values()) reject(error)
    pending.clear()
    void ended.terminate()
  }

  /** A thread keeps the process alive only while a call waits for it. */
  const watch = (started: Worker): void => {
    clearTimeout(silence)
    if (pending.size === 0) return started.unref()
    started.ref()
    const { ms, what } = silenceLimit(options, isLoaded)
    silence = setTimeout(() => end(started, new Error(`${name} ${what} for ${ms} ms`)), ms)
  }

  const start = (): Worker => {
    const started = new Worker(options.program, { env: {}, execArgv: [] })
    isLoaded = false
    started.on('message', (message: Answer | typeof loaded) => {
      if (worker !== started) return
      const call = message === loaded ? undefined : pending.get(message.number)
      if (message === loaded) isLoaded = true
      else pending.delete(message.number)
      watch(started)
      if (message !== loaded) settle(call, message, name)
    })
    started.on('error', (cause) => end(started, new Error(`${name} failed`, { cause })))
    started.on('exit', (code) => end(started, new Error(`${name} ended with code ${code}`)))
    started.unref()
    worker = started
    return started
  }

  return {
    run: (input) => {
      if (pending.size >= options.waitingMax) return Promise.reject(options.fullError())
      const running = worker ?? start()
      lastNumber += 1
      const number = lastNumber
      return new Promise<Out>((resolve, reject) => {
        pending.set(number, { resolve: (value) => resolve(value as Out), reject })
        running.postMessage({ number, input }, [])
        // The limit is counted from the last answer, or from the start, not from the last call.
        if (pending.size === 1) watch(running)
      })
    },
    start: () => void (worker ?? start()),
  }
}

/** Answers the calls of `makeThread`, in the file that it names. */
export const serveThread = (answer: (input: never) => unknown): void => {
  const port = parentPort
  if (!port) throw new Error(`serveThread was called outside a thread, by process ${process.pid}`)
  port.postMessage(loaded)
  port.on('message', ({ number, input }: { number: number; input: never }) => {
    try {
      port.postMessage({ number, value: answer(input) })
    } catch (error) {
      port.postMessage({
        number,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      })
    }
  })
}
