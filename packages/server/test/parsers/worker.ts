// Runs the inputs of one target. What it found so far is in shared memory, so that it survives an input that never ends.
import { parentPort, workerData } from 'node:worker_threads'
import { slots, type WorkerJob } from './slots.ts'
import { checkSeeds, inputOf, type Target } from './target.ts'

/** One input may take this long on the processor. */
const inputCpuMsMax = 2_000
const findingsMax = 20

const job = workerData as WorkerJob
const counts = new Int32Array(job.shared)
const add = (slot: number): void => void Atomics.add(counts, slot, 1)

let findings = 0
const report = (kind: string, index: number, what: string): void => {
  findings += 1
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  if (findings <= findingsMax) parentPort?.postMessage({ kind, index, what: what.slice(0, 600) })
}

const runInput = async (target: Target, index: number): Promise<void> => {
  const { input, seed } = inputOf(target, job.seed, index)
  const before = process.threadCpuUsage()
  try {
    const outcome = await target.run(input, seed)
    if (outcome === 'accepted') {
      add(slots.accepted)
      report('accepted', index, 'believed, and not what the seed says')
    } else if (outcome === 'equal') add(slots.equal)
  } catch (error) {
    add(slots.crashes)
    report('crash', index, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  const { user, system } = process.threadCpuUsage(before)
  if (user + system > inputCpuMsMax * 1_000) {
    add(slots.slow)
    report('hang', index, `${Math.round((user + system) / 1_000)} ms of the processor`)
  }
}

const { targets } = (await import(job.targets)) as { targets: () => Promise<readonly Target[]> }
const target = (await targets()).find(({ name }) => name === job.name)
if (!target) throw new Error(`no target ${job.name} in ${job.targets}`)
await checkSeeds(target)
for (let index = job.from; index < job.to && Date.now() < job.untilMs; index += 1) {
  Atomics.store(counts, slots.index, index)
  await runInput(target, index)
  add(slots.inputs)
}
