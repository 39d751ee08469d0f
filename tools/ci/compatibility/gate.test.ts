import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBreaks } from './compare.ts'
import { gateFaults, readDeclared } from './gate.ts'
import { currentInterface, readReleased, type Interface } from './interface.ts'

const released = readReleased()
const current = currentInterface()
const path = 'GET /api/index/{code}'
const line = `${path}: it is removed`
const reason = 'The series moved to the archive, which clients read since May.'

test('no change since the last release breaks a client, unless it is declared', (t) => {
  const breaks = findBreaks(released, current)
  t.diagnostic(`${released.operations.length} operations compared, ${breaks.length} breaks`)
  assert.deepEqual(
    gateFaults(breaks, readDeclared()),
    [],
    'declare the change with its reason in tools/ci/compatibility/declared.json, or make it compatible',
  )
})

/** The gate over sources from which one operation was removed. */
const plantedBreaks = (): string[] => {
  const planted: Interface = {
    ...current,
    operations: current.operations.filter(({ operation }) => operation !== path),
  }
  return findBreaks(current, planted)
}

test('a planted break fails the gate, and passes when it is declared', () => {
  assert.deepEqual(gateFaults(plantedBreaks(), []), [`not declared: ${line}`])
  assert.deepEqual(gateFaults(plantedBreaks(), [{ change: line, reason }]), [])
})

test('a declaration that matches nothing, is there twice or has no reason fails the gate', () => {
  const [stale] = gateFaults([], [{ change: line, reason }])
  assert.equal(stale, `declared, but not a change since the last release: ${line}`)
  assert.equal(gateFaults([line], [{ change: line, reason: ' '.repeat(40) }]).length, 1)
  assert.match(
    gateFaults(
      [line],
      [
        { change: line, reason },
        { change: line, reason },
      ],
    ).join(),
    /declared twice/,
  )
})

test('a declaration of one change does not let another one of the same operation pass', () => {
  const other = `${path}: status 403 is removed`
  assert.deepEqual(gateFaults([line, other], [{ change: line, reason }]), [`not declared: ${other}`])
})
