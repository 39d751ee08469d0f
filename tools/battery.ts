// Runs one battery, or lists all of them: npm run battery [-- NAME options…]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { batteries, findBattery, type Battery } from './batteries.ts'

const list = (): void => {
  const width = Math.max(...Object.keys(batteries).map((name) => name.length))
  for (const [name, { checks }] of Object.entries(batteries)) console.log(`${name.padEnd(width)}  ${checks}`)
}

/** The exit code of the battery; its output goes where ours goes. */
const run = async ({ command, environment }: Battery, options: readonly string[]): Promise<number> => {
  const [program = '', ...parameters] = command
  const child = spawn(program, [...parameters, ...options], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  // The battery ends what it started, and this program waits for that.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

const [name, ...options] = process.argv.slice(2)
const battery = name === undefined ? undefined : findBattery(name)
if (name === undefined) list()
else if (battery) process.exitCode = await run(battery, options)
else {
  console.error(`There is no battery ${name}. These exist:\n`)
  list()
  process.exitCode = 1
}
