import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recompute, type ClaimedScore } from '../src/recompute.ts'
import { scoreSession } from '../src/score.ts'
import { keyboardPerson, mousePerson, newVisitorContext, recordOf, fixedModel } from './recordings.ts'

const model = fixedModel({})
const records = recordOf(mousePerson())
const claimOf = (change: Partial<typeof newVisitorContext> = {}, of = records): ClaimedScore => {
  const { quality, components, flags, scoring } = scoreSession(of, { ...newVisitorContext, ...change }, model)
  return { quality, components, flags, scoring }
}

for (const [name, context] of Object.entries({
  'a newcomer': {},
  'a passkey and a history': { device: 0.8, history: 0.957 },
  'a calibrated mouse': { calibration: { pointer: 'mouse', pMin: 0.05 } },
  'a hosting network': { known: ['datacenter_ip'] },
} as const satisfies Record<string, Partial<typeof newVisitorContext>>)) {
  test(`the score of ${name} is computed again, bit for bit`, () => {
    const again = recompute(records, 'view', claimOf(context), model)
    assert.ok(again.type === 'scored')
    assert.deepEqual(again.differences, [])
  })
}

test('that a browser returned is read from its first record, and its score is computed again', () => {
  const [first, ...rest] = recordOf({ ...keyboardPerson(), probes: keyboardPerson().probes.slice(0, 1) })
  assert.ok(first)
  const returned = [{ ...first, after: { ...first.after, returning: true as const } }, ...rest]
  const claim = claimOf({}, returned)
  const again = recompute(returned, 'view', claim, model)
  assert.ok(again.type === 'scored' && again.score.verified)
  assert.deepEqual(again.differences, [])
  const stripped = recompute([first, ...rest], 'view', claim, model)
  assert.ok(stripped.type === 'scored' && !stripped.score.verified)
  assert.ok((stripped.differences?.length ?? 0) > 0)
})

test('a claim that the records do not support is reported, number by number', () => {
  const claim = claimOf()
  for (const [name, lie] of Object.entries<ClaimedScore>({
    quality: { ...claim, quality: 0.999 },
    focus: { ...claim, components: { ...claim.components, focus: 0.5 } },
    input: { ...claim, components: { ...claim.components, input: null } },
    flags: { ...claim, flags: ['gaze_away'] },
  })) {
    const again = recompute(records, 'view', lie, model)
    assert.ok(again.type === 'scored')
    assert.ok(
      again.differences?.some((difference) => difference.startsWith(`${name}: `)),
      name,
    )
  }
  const other = recompute(recordOf(keyboardPerson({ answers: [true, true, false] })), 'view', claim, model)
  assert.ok(other.type === 'scored' && (other.differences?.length ?? 0) > 0)
})

test('without a claim it is scored as a newcomer, and nothing is compared', () => {
  const again = recompute(records, 'view', null, model)
  assert.ok(again.type === 'scored')
  assert.equal(again.differences, null)
  assert.deepEqual(again.assumed, { device: 0.3, history: 0.5, known: [] })
})

test('a score of another version, or one that does not come from records, is not computed again', () => {
  for (const [kind, scoring] of [
    ['view', 'rules-1999.01+input-0000.00'],
    ['view', 'rules-2026.11+input-0000.00'],
    ['view', 'rules-2026.11.2'],
    ['presence', undefined],
    ['constructor', undefined],
  ] as const)
    assert.equal(recompute(records, kind, { ...claimOf(), scoring }, model).type, 'unknown', kind)
})
