import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createDatabase } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { closingAfter, makeFolder } from '../driver/closing.ts'
import { step } from '../driver/program.ts'
import { sum } from '../driver/rounds.ts'
import { openPostgres } from '../driver/service.ts'

type OrderLives = {
  readonly lives: number
  /** How often each step was taken and refused. */
  readonly steps: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

const runProcess = async (cluster: string, args: readonly string[]): Promise<OrderLives> => {
  const script = new URL('./order-lives.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, POHF_TEST_CLUSTER: cluster },
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  const last = text.trim().split('\n').at(-1) ?? ''
  if (code !== 0 || !last.startsWith('{'))
    return { lives: 0, steps: {}, faults: [`a process of the battery ended with ${code ?? 'a signal'}`] }
  return JSON.parse(last) as OrderLives
}

/** Random lives of orders, units and known-answer items, in several processes on one PostgreSQL. */
export const runOrderLives = (options: {
  readonly lives: number
  readonly processes: number
  readonly steps: number
  readonly seed: number
}): Promise<OrderLives> =>
  closingAfter(async (defer) => {
    const folder = makeFolder('orders', defer)
    const cluster = await openPostgres({ folder, settings: { max_connections: '200' } })
    defer(cluster.stop)
    await migrate(await createDatabase(cluster, 'pohf_template'))
    const share = String(Math.ceil(options.lives / options.processes))
    step(`${options.lives} lives in ${options.processes} processes`)
    const found = await Promise.all(
      Array.from({ length: options.processes }, (_, index) =>
        runProcess(cluster.url(''), [
          `--lives=${share}`,
          `--steps=${options.steps}`,
          `--seed=${options.seed + index}`,
        ]),
      ),
    )
    const steps: Record<string, number> = {}
    for (const one of found)
      for (const [name, count] of Object.entries(one.steps)) steps[name] = (steps[name] ?? 0) + count
    return {
      lives: sum(found.map(({ lives }) => lives)),
      steps: Object.fromEntries(Object.entries(steps).toSorted(([a], [b]) => a.localeCompare(b))),
      faults: found.flatMap(({ faults }) => faults),
    }
  })
