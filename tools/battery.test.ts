import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { batteries, batteryNames } from './batteries.ts'

const repositoryRoot = join(import.meta.dirname, '..')
const runBattery = (...parameters: readonly string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'battery.ts'), ...parameters], { encoding: 'utf8' })

test('every program of a battery exists', () => {
  const files = Object.values(batteries).flatMap(({ command }) =>
    command.filter((word) => word.endsWith('.ts')),
  )
  assert.ok(files.length >= 20)
  assert.deepEqual(
    files.filter((file) => !existsSync(join(repositoryRoot, file))),
    [],
  )
})

test('without a name all batteries are listed, and a name that does not exist fails with the list', () => {
  const listed = runBattery()
  assert.equal(listed.status, 0)
  for (const name of batteryNames) assert.match(listed.stdout, new RegExp(`^${name} +\\S`, 'm'))
  const unknown = runBattery('nothing')
  assert.equal(unknown.status, 1)
  assert.match(unknown.stderr, /no battery nothing/)
})
