import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand, runLanes, type StepResult } from './lanes.ts'

const step = (name: string, after?: string) => ({
  name,
  checks: '',
  command: [],
  ...(after ? { after } : {}),
})
const resultOf = (name: string, hasPassed: boolean): StepResult => ({
  name,
  hasPassed,
  seconds: 0,
  output: '',
})

test('lanes run at the same time, and a step waits for the one of the other lane that it names', async () => {
  const started: string[] = []
  const build = Promise.withResolvers<void>()
  const lanes = [
    { name: 'tests', steps: [step('build'), step('tests')] },
    { name: 'checks', steps: [step('types'), step('service', 'build')] },
  ]
  const all = runLanes(
    lanes,
    async ({ name }) => {
      started.push(name)
      // The build ends only when the other lane has nothing left but the step that waits for it.
      if (name === 'types') setImmediate(build.resolve)
      if (name === 'build') await build.promise
      return resultOf(name, true)
    },
    () => undefined,
  )
  assert.deepEqual((await all).map(({ name }) => name).toSorted(), ['build', 'service', 'tests', 'types'])
  assert.deepEqual(started.slice(0, 2), ['build', 'types'])
})

test('after a failure the other steps still run, but not what needs the step that failed', async () => {
  const reported: string[] = []
  const results = await runLanes(
    [
      { name: 'tests', steps: [step('build'), step('tests')] },
      { name: 'checks', steps: [step('service', 'build'), step('kills', 'service'), step('types')] },
    ],
    ({ name }) => Promise.resolve(resultOf(name, name !== 'build')),
    ({ name, hasPassed }) => reported.push(`${name} ${hasPassed}`),
  )
  assert.deepEqual(reported.toSorted(), ['build false', 'tests true', 'types true'])
  assert.equal(results.length, 3)
})

const runScript = (script: string) =>
  runCommand({ name: 'script', checks: '', command: ['bash', '-c', script] })

test('a step has what it printed and whether it passed, also one that leaves a process with its output', async () => {
  const good = await runScript('echo one; echo two >&2')
  assert.deepEqual([good.hasPassed, good.output.split('\n').toSorted()], [true, ['one', 'two']])
  assert.equal((await runScript('exit 3')).hasPassed, false)
  const leaving = await runScript('sleep 600 & echo $!')
  assert.equal(leaving.hasPassed, true)
  process.kill(Number(leaving.output))
})

test('a step whose program is missing fails and names it', async () => {
  const { hasPassed, output } = await runCommand({ name: 'x', checks: '', command: ['no-such-program'] })
  assert.equal(hasPassed, false)
  assert.match(output, /no-such-program/)
})
