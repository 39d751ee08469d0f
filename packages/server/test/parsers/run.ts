import { Worker } from 'node:worker_threads'
import { slots, type WorkerJob } from './slots.ts'

type Finding = { readonly kind: string; readonly index: number; readonly what: string }
export type ParserResult = {
  readonly parser: string
  readonly inputs: number
  readonly crashes: number
  readonly hangs: number
  readonly accepted: number
  /** Believed, with the meaning of the seed. */
  readonly equal: number
  readonly seconds: number
  readonly findings: readonly Finding[]
}
export type RunOptions = {
  /** The module with `targets()`. */
  readonly targets: string
  readonly seed: string
  readonly inputs: number
  readonly seconds: number
  readonly from?: number
  /** Processor time of the whole process after which an input without an end counts as a hang. */
  readonly hangCpuMs?: number
}

const pollMs = 250
/** Without any progress for so long, an input waits for something that never comes. */
const hangWallMs = 120_000

type Stop = 'ended' | 'hang'
/** Waits until the worker ends, or until one input takes too long. */
const watch = (worker: Worker, counts: Int32Array, hangCpuMs: number): Promise<Stop> =>
  new Promise((resolve, reject) => {
    let at = { inputs: -1, cpu: process.cpuUsage(), wall: performance.now() }
    const timer = setInterval(() => {
      const inputs = Atomics.load(counts, slots.inputs)
      const { user, system } = process.cpuUsage(at.cpu)
      // The first input waits for the modules and seeds of the worker.
      const factor = inputs === 0 ? 10 : 1
      if (inputs !== at.inputs) at = { inputs, cpu: process.cpuUsage(), wall: performance.now() }
      else if (
        user + system > hangCpuMs * 1_000 * factor ||
        performance.now() - at.wall > hangWallMs * factor
      ) {
        clearInterval(timer)
        resolve('hang')
      }
    }, pollMs)
    worker.once('error', (error) => {
      clearInterval(timer)
      reject(error)
    })
    worker.once('exit', () => {
      clearInterval(timer)
      resolve('ended')
    })
  })

/** Runs one target in a thread of its own. An input that never ends is recorded, and the next one starts in a new thread. */
export const runParser = async (parser: string, options: RunOptions): Promise<ParserResult> => {
  const { targets, seed, from = 0, hangCpuMs = 20_000 } = options
  const startedAt = performance.now()
  const shared = new SharedArrayBuffer(slots.count * 4)
  const counts = new Int32Array(shared)
  const findings: Finding[] = []
  const to = from + options.inputs
  const untilMs = Date.now() + options.seconds * 1_000
  let hangs = 0
  for (let next = from; next < to && Date.now() < untilMs;) {
    const job: WorkerJob = { targets, name: parser, seed, from: next, to, untilMs, shared }
    const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: job })
    worker.on('message', (finding: Finding) => findings.push(finding))
    const stop = await watch(worker, counts, hangCpuMs)
    if (stop === 'ended') break
    const index = Atomics.load(counts, slots.index)
    hangs += 1
    Atomics.add(counts, slots.inputs, 1)
    findings.push({ kind: 'hang', index, what: 'it did not end' })
    await worker.terminate()
    next = index + 1
  }
  const read = (slot: number): number => Atomics.load(counts, slot)
  return {
    parser,
    inputs: read(slots.inputs),
    crashes: read(slots.crashes),
    hangs: hangs + read(slots.slow),
    accepted: read(slots.accepted),
    equal: read(slots.equal),
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    findings,
  }
}
