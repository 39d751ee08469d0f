import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import { qualityOf } from '../src/quality.ts'
import {
  addServerFlag,
  readScoringName,
  scoreSession,
  serverFlags,
  type ScoreContext,
  type SessionScore,
} from '../src/score.ts'
import {
  keyboardPerson,
  mousePerson,
  newVisitorContext,
  recordOf,
  run,
  fixedModel,
  screenReaderPerson,
  touchPerson,
  type TimedEvent,
  type Recording,
} from './recordings.ts'

const model = fixedModel({})
const score = (recording: Recording, context: Partial<ScoreContext> = {}, inputModel = model): SessionScore =>
  scoreSession(recordOf(recording), { ...newVisitorContext, ...context }, inputModel)
const persons = { mousePerson, touchPerson, keyboardPerson, screenReaderPerson }

for (const [name, person] of Object.entries(persons)) {
  test(`${name}: an attentive newcomer without a device is verified, without a flag`, () => {
    const scored = score(person())
    assert.deepEqual([scored.flags, scored.reasons, scored.verified], [[], [], true])
    assert.equal(scored.evidence.hits, 3)
    assert.equal(scored.components.focus, 1)
    assert.equal(scored.components.input === null, person !== mousePerson)
    assert.equal(scored.scoring, 'rules-2026.11.2+input-0000.00')
  })
  test(`${name}: two of three probes suffice, one does not`, () => {
    assert.equal(score(person({ answers: [true, false, true] })).verified, true)
    const one = score(person({ answers: [true, false, false] }))
    assert.equal(one.verified, false)
    assert.deepEqual(one.flags, ['probe_missed'])
  })
}

/** The first probes of a recording, which ends soon after the last of them was answered. */
const firstProbes = (recording: Recording, count: number, returning = false): TelemetryRecord[] => {
  const probes = recording.probes.slice(0, count)
  const durationMs = (probes.at(-1)?.at ?? 0) + 4_600
  const events = recording.events.filter(([, t]) => t < durationMs - 200)
  const [first, ...rest] = recordOf({ ...recording, probes, events, durationMs })
  assert.ok(first)
  return [returning ? { ...first, after: { ...first.after, returning: true } } : first, ...rest]
}
/** Hardly any motion: the model sees half a second of it. */
const still = fixedModel({ motionSeconds: 0.5, strokes: 1, p: null })
const scoreStill = (recording: Recording, count: number, returning: boolean): SessionScore =>
  scoreSession(firstProbes(recording, count, returning), newVisitorContext, still)

for (const [name, person] of Object.entries(persons)) {
  test(`${name}: two of two suffice without motion, and one of one only in a browser that returned, or to approve`, () => {
    const two = scoreStill(person(), 2, false)
    assert.deepEqual([two.evidence.probes, two.evidence.hits, two.flags, two.reasons], [2, 2, [], []])
    assert.equal(two.quality, 0.692)
    const returned = scoreStill(person(), 1, true)
    assert.deepEqual([returned.evidence.probes, returned.flags, returned.reasons], [1, [], []])
    assert.deepEqual([returned.quality, returned.evidence.returning], [0.66, true])
    const stranger = scoreStill(person(), 1, false)
    assert.deepEqual(stranger.flags, ['insufficient_evidence'])
    assert.deepEqual(stranger.reasons, ['quality_low', 'attention_unproven'])
    const decided = scoreSession(firstProbes(person(), 1), { ...newVisitorContext, kind: 'approval' }, still)
    assert.deepEqual([decided.verified, decided.evidence.returning], [true, false])
    assert.ok(addServerFlag(decided, 'datacenter_ip').verified)
  })
}

test('a browser that returned needs a second in view, and its one probe must be hit', () => {
  const seenFor = (ms: number) => {
    const person = withActs([['f', 10 + ms, 0, 0, 0]], keyboardPerson())
    return scoreSession(firstProbes(person, 1, true), newVisitorContext, still)
  }
  assert.deepEqual([seenFor(1_000).components.focus, seenFor(1_000).verified], [1, true])
  assert.deepEqual([seenFor(499).flags, seenFor(499).verified], [['background'], false])
  const missed = firstProbes(keyboardPerson({ answers: [false, false, false] }), 1, true)
  assert.equal(scoreSession(missed, newVisitorContext, still).verified, false)
})

test('the kinds of probes are counted apart', () => {
  assert.deepEqual(score(mousePerson({ answers: [true, false, true] })).evidence.pictures, {
    asked: 3,
    hit: 2,
  })
  assert.deepEqual(score(mousePerson()).evidence.words, { asked: 0, hit: 0 })
  assert.deepEqual(score(keyboardPerson()).evidence.words, { asked: 3, hit: 3 })
  assert.deepEqual(score(keyboardPerson()).evidence.pictures, { asked: 0, hit: 0 })
})

test('a person without a pointer is scored at least as well as a newcomer with one', () => {
  const pointing = score(mousePerson(), {}, fixedModel({ p: 0.5 })).quality
  for (const person of [keyboardPerson, screenReaderPerson, touchPerson])
    assert.ok(score(person()).quality >= pointing)
})

test('a pointing probe that somebody could not answer is taken back with the request for another kind', () => {
  const person = keyboardPerson()
  const truth = { id: 'q', kind: 'point', x: 1, y: 1, radius: 9, fromMs: 250, toMs: 2_500 } as const
  const first: Recording = { ...person, probes: [{ at: 100, truth }, ...person.probes] }
  const asking = score(first)
  assert.deepEqual([asking.evidence.probes, asking.evidence.hits, asking.verified], [3, 3, true])
  const silent = score({ ...first, events: first.events.filter(([tag]) => tag !== 'x') })
  assert.equal(silent.evidence.probes, 4)
})

const withActs = (acts: readonly TimedEvent[], recording = mousePerson()): Recording => ({
  ...recording,
  events: [...recording.events, ...acts],
})
const bareClicks: Recording = {
  ...mousePerson(),
  events: mousePerson().events.filter(([tag]) => tag !== 'm'),
}
/** What the person did, and the flag that must come of it. */
const cases: readonly (readonly [string, Recording, string])[] = [
  ['one untrusted click', withActs([['c', 5_000, 'm', 0]]), 'untrusted_events'],
  ['one untrusted key', withActs([['k', 5_000, 'd', 0, 0]]), 'untrusted_events'],
  ['untrusted motion', withActs([run(9_500, 'm', 0)]), 'untrusted_events'],
  ['webdriver', { ...keyboardPerson(), webdriver: true }, 'automation_env'],
  ['a control that nobody can see', withActs([['h', 5_000]]), 'honeypot_hit'],
  ['pointing probes answered within 200 ms', mousePerson({ reactionMs: 200 }), 'impossible_timing'],
  [
    'buttons held for 2 ms',
    withActs(
      [4_900, 9_100].flatMap((t): TimedEvent[] => [
        run(t - 10),
        ['d', t, 'm', 1, 9, 9],
        ['u', t + 2, 'm', 1, 9, 9],
      ]),
    ),
    'impossible_timing',
  ],
  ['clicks that jump', bareClicks, 'no_approach_path'],
  [
    'clicks after a single move, as automation makes them',
    withActs(
      [3_210, 7_310, 11_410].map((t): TimedEvent => ['m', t, 'm', 1, 1, [300, 120]]),
      bareClicks,
    ),
    'no_approach_path',
  ],
  ['a hidden page', withActs([['f', 900, 0, 0, 0]]), 'background'],
  ['a page out of focus', withActs([['f', 900, 1, 0, 100]]), 'background'],
  ['an element out of view', withActs([['f', 900, 1, 1, 49]]), 'background'],
  [
    'one probe and no motion',
    {
      ...keyboardPerson(),
      durationMs: 6_000,
      probes: keyboardPerson().probes.slice(0, 1),
      events: keyboardPerson().events.filter(([, t]) => t < 5_900),
    },
    'insufficient_evidence',
  ],
]
for (const [name, recording, flag] of cases) {
  test(`${name}: ${flag}, and not verified`, () => {
    const scored = score(recording)
    assert.ok(scored.flags.includes(flag as never), JSON.stringify(scored))
    assert.equal(scored.verified, false)
  })
}

test('a single press without a path, or held too shortly, says nothing yet', () => {
  const scored = score(
    withActs([
      ['d', 5_600, 'm', 1, 9, 9],
      ['u', 5_602, 'm', 1, 9, 9],
    ]),
  )
  assert.deepEqual(scored.flags, [])
})

const edited = (edit: (records: TelemetryRecord[]) => void): SessionScore => {
  const records = recordOf(keyboardPerson())
  edit(records)
  return scoreSession(records, newVisitorContext, model)
}
const change = (records: TelemetryRecord[], index: number, part: Record<string, unknown>): void => {
  const record = records[index]
  assert.ok(record)
  records[index] = { ...record, chunk: JSON.stringify({ ...(JSON.parse(record.chunk) as object), ...part }) }
}
const tampered: readonly (readonly [string, string, (records: TelemetryRecord[]) => void])[] = [
  ['a chunk left out', 'chain_broken', (records) => records.splice(2, 1)],
  [
    'two chunks swapped',
    'chain_broken',
    (records) => records.splice(1, 2, ...records.slice(1, 3).toReversed()),
  ],
  ['the end cut off', 'chain_broken', (records) => records.pop()],
  [
    'an end that states another number',
    'chain_broken',
    (records) => change(records, 6, { last: { n: 9, ms: 14_000 } }),
  ],
  [
    'a chunk of another receipt',
    'chain_broken',
    (records) => change(records, 3, { receipt: 'q'.repeat(22) }),
  ],
  ['a chunk that cannot be read', 'chain_broken', (records) => change(records, 3, { ev: [['z', 1]] })],
  ['no chunk at all', 'chain_broken', (records) => records.splice(0)],
  ['a clock that goes back', 'impossible_timing', (records) => change(records, 3, { t0: 5_000 })],
  ['no word of the environment', 'automation_env', (records) => change(records, 0, { env: undefined })],
  [
    'a receipt used twice',
    'nonce_reuse',
    (records) => {
      const [second, third] = [records[1], records[2]]
      assert.ok(second && third)
      records[2] = { ...third, after: { ...third.after, token: second.after.token } }
    },
  ],
]
/** The server's times, `factor` times as far apart. */
const stretch = (records: TelemetryRecord[], factor: number): void => {
  const start = records[0]?.after.at ?? 0
  const moved = (at: number) => start + (at - start) * factor
  for (const [index, record] of records.entries())
    records[index] = {
      ...record,
      receivedAt: moved(record.receivedAt),
      after: { ...record.after, at: moved(record.after.at) },
    }
}
for (const [factor, name] of [
  [0.33, 'three times as fast'],
  [1.5, 'a third too slow'],
] as const) {
  test(`a page whose clock runs ${name}: clock_skew`, () => {
    assert.ok(edited((records) => stretch(records, factor)).flags.includes('clock_skew'))
  })
}
test('a last chunk that waited five seconds for the network is no wrong clock', () => {
  const scored = edited((records) => {
    const last = records.at(-1)
    assert.ok(last)
    records[records.length - 1] = { ...last, receivedAt: last.receivedAt + 5_000 }
  })
  assert.deepEqual([scored.flags, scored.verified], [[], true])
})

for (const [name, flag, edit] of tampered) {
  test(`${name}: ${flag}, and not verified`, () => {
    const scored = edited(edit)
    assert.ok(scored.flags.includes(flag as never), JSON.stringify(scored.flags))
    assert.equal(scored.verified, false)
  })
}

test('a flag that the server sets counts like any other', () => {
  const scored = score(keyboardPerson(), { known: ['replay_match'] })
  assert.deepEqual([scored.flags, scored.quality, scored.verified], [['replay_match'], 0.1, false])
})

test('without a calibration, motion that looks generated is noted, and lowers nothing', () => {
  const drawn = fixedModel({ p: 0.001, synthetic: true })
  const observed = score(mousePerson(), {}, drawn)
  assert.deepEqual([observed.flags, observed.observations], [[], ['synthetic_motion']])
  assert.equal(observed.components.input, null)
  assert.equal(observed.quality, score(keyboardPerson()).quality)
  const calibrated = score(mousePerson(), { calibration: { pointer: 'mouse', pMin: 0.05 } }, drawn)
  assert.deepEqual([calibrated.flags, calibrated.observations], [['synthetic_motion'], []])
  assert.equal(calibrated.verified, false)
  assert.equal(calibrated.scoring, 'rules-2026.11.2+input-0000.00+mouse-0.050')
})

test('a calibrated threshold needs three seconds of motion', () => {
  const calibration = { pointer: 'mouse', pMin: 0.5 } as const
  const short = score(mousePerson(), { calibration }, fixedModel({ p: 0.3, motionSeconds: 2.9 }))
  assert.deepEqual(short.flags, [])
  const long = score(mousePerson(), { calibration }, fixedModel({ p: 0.3, motionSeconds: 3 }))
  assert.deepEqual(long.flags, ['synthetic_motion'])
})

test('motion lowers nothing at a returning browser that answered one probe, and may raise it', () => {
  const context = { ...newVisitorContext, calibration: { pointer: 'mouse', pMin: 0.05 } as const }
  const scoreMotion = (motion: { p: number; motionSeconds: number }, count: number, returning: boolean) =>
    scoreSession(firstProbes(mousePerson(), count, returning), context, fixedModel(motion))
  const poor = scoreMotion({ p: 0.1, motionSeconds: 2 }, 1, true)
  assert.deepEqual([poor.components.input, poor.verified], [null, true])
  assert.equal(scoreMotion({ p: 0.1, motionSeconds: 2 }, 2, false).components.input, 0.42)
  assert.ok(scoreMotion({ p: 1, motionSeconds: 10 }, 1, true).quality > poor.quality)
})

test('a scoring name tells its calibration back, and a name of another version is not read', () => {
  for (const calibration of [null, { pointer: 'mouse', pMin: 0.183 } as const]) {
    const { scoring } = score(keyboardPerson(), { calibration })
    assert.deepEqual(readScoringName(scoring, model.version), { calibration })
    assert.equal(readScoringName(scoring, 'input-1999.01'), undefined)
  }
  assert.equal(readScoringName('rules-1999.01+input-0000.00', model.version), undefined)
})

const unit = fc.integer({ min: 0, max: 1_000 }).map((share) => share / 1_000)
const someone = fc.constantFrom(...Object.values(persons))
const behaviour = fc.record({
  answers: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  reactionMs: fc.integer({ min: 100, max: 2_600 }),
})
const context = fc.record({
  kind: fc.constantFrom('view' as const, 'work' as const, 'task' as const),
  device: unit,
  history: unit,
  answerCorrect: fc.constantFrom(null, true, false),
  calibration: fc.constantFrom(null, { pointer: 'mouse' as const, pMin: 0.05 }),
})
const verdicts = fc.record({
  p: fc.option(unit, { nil: null }),
  motionSeconds: fc.double({ min: 0, max: 60, noNaN: true }),
  synthetic: fc.boolean(),
})
const runs = { numRuns: 1_000 }

test('no session with one untrusted event or with webdriver is ever verified', () => {
  let verified = 0
  fc.assert(
    fc.property(someone, behaviour, context, verdicts, (...[person, how, around, verdict]) => {
      const scoreOf = (recording: Recording) => score(recording, around, fixedModel(verdict))
      if (scoreOf(person(how)).verified) verified += 1
      for (const bad of [
        { ...person(how), webdriver: true },
        withActs([['k', 5_010, 'd', 1, 0]], person(how)),
      ]) {
        assert.equal(scoreOf(bad).verified, false)
        assert.ok(scoreOf(bad).quality <= 0.1)
      }
    }),
    runs,
  )
  assert.ok(verified > 50, `the property saw only ${verified} sessions that were verified without it`)
})

test('more confidence of the model never lowers the quality, calibrated or not', () => {
  fc.assert(
    fc.property(context, verdicts, unit, (around, verdict, more) => {
      fc.pre(verdict.p !== null)
      const low = Math.min(verdict.p ?? 0, more)
      const high = Math.max(verdict.p ?? 0, more)
      const at = (p: number) =>
        scoreSession(
          recordOf(mousePerson()),
          { ...newVisitorContext, ...around },
          fixedModel({ ...verdict, p }),
        ).quality
      assert.ok(at(high) >= at(low))
    }),
    runs,
  )
})

test('without a calibration no motion verdict makes a mouse worse than a keyboard', () => {
  const keyboard = score(keyboardPerson()).quality
  fc.assert(
    fc.property(verdicts, (verdict) =>
      assert.ok(score(mousePerson(), {}, fixedModel(verdict)).quality >= keyboard),
    ),
    runs,
  )
})

test('the quality follows from the published components and flags', () => {
  fc.assert(
    fc.property(someone, behaviour, context, verdicts, (person, how, around, verdict) => {
      const scored = scoreSession(
        recordOf(person(how)),
        { ...newVisitorContext, ...around },
        fixedModel(verdict),
      )
      assert.equal(scored.quality, qualityOf(scored.components, scored.flags))
      for (const value of Object.values(scored.components))
        if (value !== null) assert.equal(value, Number(value.toFixed(3)))
    }),
    runs,
  )
})

test('a flag that is added later gives the same score as one that was known before', () => {
  for (const recording of [mousePerson(), keyboardPerson({ answers: [true, false, false] })])
    for (const flag of serverFlags)
      for (const known of [[], ['automation_env'] as const]) {
        const added = addServerFlag(score(recording, { known }), flag)
        assert.deepEqual(added, score(recording, { known: [...known, flag] }), flag)
      }
})
