import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  componentNames,
  deviceScores,
  flagCaps,
  historyScore,
  inputScore,
  evaluateAttention,
  evaluatePresence,
  probeScore,
  qualityOf,
  type Components,
  type FlagName,
} from '../src/quality.ts'
import { focusScore } from '../src/visible.ts'

const unit = fc.double({ min: 0, max: 1, noNaN: true })
const maybe = fc.option(unit, { nil: null })
const components: fc.Arbitrary<Components> = fc.record({
  focus: maybe,
  probe: maybe,
  input: maybe,
  gaze: maybe,
  device: maybe,
  history: maybe,
})
const flags = fc.uniqueArray(fc.constantFrom(...(Object.keys(flagCaps) as FlagName[])), { maxLength: 4 })
const runs = { numRuns: 5_000 }

test('quality is within 0 and 1 and under the cap of every flag', () => {
  fc.assert(
    fc.property(components, flags, (measured, raised) => {
      const quality = qualityOf(measured, raised)
      assert.ok(quality >= 0 && quality <= 1)
      for (const flag of raised) assert.ok(quality <= flagCaps[flag].cap)
    }),
    runs,
  )
})

test('quality never falls when a measured component rises', () => {
  fc.assert(
    fc.property(
      components,
      flags,
      fc.constantFrom(...componentNames, 'gaze' as const),
      unit,
      (measured, raised, name, rise) => {
        const value = measured[name]
        fc.pre(value !== null)
        const better = { ...measured, [name]: Math.min(1, (value ?? 0) + rise) }
        assert.ok(qualityOf(better, raised) >= qualityOf(measured, raised))
      },
    ),
    runs,
  )
})

test('gaze may raise quality and never lowers it', () => {
  fc.assert(
    fc.property(components, unit, (measured, gaze) =>
      assert.ok(qualityOf({ ...measured, gaze }, []) >= qualityOf({ ...measured, gaze: null }, [])),
    ),
    runs,
  )
})

test('an approval needs half of 3 s in view, also in a returning browser', () => {
  assert.ok(focusScore('approval', 1_490, true) < 0.5)
  assert.equal(focusScore('approval', 1_500, false), 0.5)
})

test('a blocking flag is never verified, whatever was measured', () => {
  const blockingFlags = (Object.keys(flagCaps) as FlagName[]).filter((flag) => flagCaps[flag].blocking)
  assert.ok(blockingFlags.length >= 9)
  fc.assert(
    fc.property(components, fc.constantFrom(...blockingFlags), fc.boolean(), (measured, flag, correct) => {
      assert.equal(
        evaluateAttention({
          components: measured,
          flags: [flag],
          probesOffered: 3,
          oneProbe: correct,
          answerCorrect: correct,
        }).verified,
        false,
      )
      assert.equal(
        evaluatePresence({
          components: measured,
          flags: [flag],
          attested: true,
          evidenced: true,
        }).verified,
        false,
      )
    }),
    runs,
  )
})

const person = (change: Partial<Components>): Components => ({
  focus: 0.97,
  probe: probeScore(3, 3),
  input: 0.75,
  gaze: null,
  device: deviceScores.none,
  history: historyScore(0, 0),
  ...change,
})
const workedExamples: readonly (readonly [string, Components, FlagName[], number, boolean])[] = [
  ['a new attentive person without a device', person({}), [], 0.7, true],
  [
    'the same with a passkey and a history',
    person({ device: deviceScores.passkey, history: historyScore(20, 0) }),
    [],
    0.82,
    true,
  ],
  ['one probe of three missed', person({ probe: probeScore(2, 3) }), [], 0.63, true],
  ['keyboard only', person({ input: null }), [], 0.7, true],
  ['drawn motion that hits every probe', person({ input: 0.1 }), ['synthetic_motion'], 0.45, false],
  ['clicks that jump', person({}), ['no_approach_path'], 0.35, false],
]
for (const [name, measured, raised, expected, verified] of workedExamples) {
  test(`worked example: ${name} is ${verified ? '' : 'not '}verified near ${expected}`, () => {
    const verdict = evaluateAttention({
      components: measured,
      flags: raised,
      probesOffered: 3,
      oneProbe: false,
      answerCorrect: null,
    })
    assert.ok(Math.abs(verdict.quality - expected) < 0.05, String(verdict.quality))
    assert.equal(verdict.verified, verified)
  })
}

const device = { focus: null, probe: null, input: null, gaze: null, device: 1, history: 1 }
const presenceInput = {
  components: device,
  flags: [] as FlagName[],
  attested: true,
  evidenced: true,
}
const presences: readonly (readonly [string, Partial<typeof presenceInput>, number, readonly string[]])[] = [
  ['an attested device', {}, 1, []],
  ['an enrolled member without an attested device', { attested: false }, 0.55, []],
  ['neither photo nor place', { evidenced: false }, 1, ['evidence_missing']],
  ['an impossible journey', { flags: ['geo_mismatch'] }, 0.6, ['flag_geo_mismatch']],
  ['a device that too many share', { flags: ['device_shared'] }, 0.3, ['flag_device_shared']],
  ['a hosting network', { flags: ['datacenter_ip'] }, 0.7, []],
]
for (const [name, change, quality, reasons] of presences) {
  test(`presence with ${name}: ${quality}, ${reasons.length === 0 ? 'verified' : reasons.join(', ')}`, () => {
    const verdict = evaluatePresence({ ...presenceInput, ...change })
    assert.deepEqual(verdict, { quality, verified: reasons.length === 0, reasons })
  })
}

test('little motion says little: input is near undecided, and whole at ten seconds', () => {
  assert.equal(inputScore(0.9, 0), 0.5)
  assert.equal(inputScore(0.9, 10), 0.9)
  assert.equal(inputScore(0.9, 60), 0.9)
  assert.ok(inputScore(0.1, 3) > inputScore(0.1, 6))
})
