import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advanceSchedule, newSchedule } from '../../packages/server/src/sessions/recording/schedule.ts'
import { expectedAnswerOf } from '../../packages/server/src/sessions/recording/probes.ts'
import { computeProbes, outcomesOf, sequences, type Ending, type SequenceName } from './probes.ts'

const passing = (name: SequenceName, hit: number): Ending[] =>
  outcomesOf(sequences[name], hit).filter(({ passed }) => passed)
const passShare = (name: SequenceName, hit: number): number =>
  passing(name, hit).reduce((sum, { share }) => sum + share, 0)
const namesOf = (outcomes: readonly Ending[]) => outcomes.map(({ hits, probes }) => `${hits}/${probes}`)

test('each sequence ends where its rule says, and its outcomes are everybody', () => {
  assert.deepEqual(namesOf(passing('before', 0.9)), ['3/3', '2/3', '4/6'])
  assert.deepEqual(namesOf(passing('newVisitor', 0.9)), ['2/2', '2/3', '4/6'])
  assert.deepEqual(namesOf(passing('returning', 0.9)), ['1/1', '2/3', '4/6'])
  const failed = outcomesOf(sequences.newVisitor, 0.9).filter(({ passed }) => !passed)
  assert.deepEqual(namesOf(failed), ['0/3', '1/4', '2/5', '3/6'])
  for (const sequence of Object.values(sequences)) {
    const total = outcomesOf(sequence, 0.7).reduce((sum, { share }) => sum + share, 0)
    assert.ok(Math.abs(total - 1) < 1e-12)
  }
})

/** How many questions the server asks a visitor who hits and misses in this order, each answer after a second. */
const askedByServer = (answers: readonly boolean[], returning: boolean): { probes: number; hits: number } => {
  const start = { kind: 'view', returning, words: false } as const
  let schedule = newSchedule(start, 0, { draw: 0.5, seed: 's0' })
  for (let n = 0; schedule.open; n += 1) {
    const truth = expectedAnswerOf(schedule.open.probe)
    assert.ok(truth.kind === 'point')
    const [t0, t1] = [n * 1_000, (n + 1) * 1_000]
    const record = {
      chunk: {
        seq: n + 1,
        receipt: '',
        t0,
        t1,
        environment: null,
        events: [
          { type: 'focus', t: t0, visible: true, focused: true, share: 100 },
          { type: 'shown', t: t0, probe: truth.id },
          {
            type: 'point',
            t: t1,
            probe: truth.id,
            how: 'm',
            trusted: true,
            x: truth.x + (answers[n] ? 0 : 60),
            y: truth.y,
          },
        ],
        last: null,
      },
      receivedAt: t1,
      after: { at: t0, token: '', probe: truth },
    } as const
    schedule = advanceSchedule(schedule, record, 'view', { draw: 0.5, seed: `s${n + 1}` }).schedule
  }
  return { probes: schedule.done, hits: schedule.hits }
}

test('the sequences of today are those of the server, for every order of hits and misses', () => {
  for (const [name, returning] of [
    ['newVisitor', false],
    ['returning', true],
  ] as const)
    for (let bits = 0; bits < 64; bits += 1) {
      const answers = Array.from({ length: 6 }, (_, n) => ((bits >> n) & 1) === 1)
      let [probes, hits] = [0, 0]
      while (sequences[name](probes, hits) === 'ask') hits += answers[probes++] ? 1 : 0
      assert.deepEqual({ probes, hits }, askedByServer(answers, returning), `${name} ${answers.join(' ')}`)
    }
})

test('a new visitor is lost as often as before at every probability of a hit, a returning browser less often', () => {
  for (let hit = 0.05; hit < 1; hit += 0.05) {
    const exact = 3 * hit ** 2 - 2 * hit ** 3 + 3 * hit ** 4 * (1 - hit) ** 2
    assert.ok(Math.abs(passShare('before', hit) - exact) < 1e-12)
    assert.ok(Math.abs(passShare('newVisitor', hit) - exact) < 1e-12)
    assert.ok(passShare('returning', hit) > exact)
  }
})

test('the rates of people are computed from the published distribution', () => {
  const { before, newVisitor, returning } = computeProbes()
  assert.ok(before.pass > 0.99 && before.pass < 1)
  assert.ok(before.worst > 0.9 && before.worst < before.pass)
  assert.ok(newVisitor.pass >= before.pass - 1e-12 && newVisitor.worst >= before.worst - 1e-12)
  assert.ok(returning.pass > before.pass && returning.worst > before.worst)
  assert.ok(before.questions >= 3 && newVisitor.questions >= 2 && newVisitor.questions < 2.1)
  assert.ok(returning.questions >= 1 && returning.questions < 1.1)
  // One ring in seven. One question is guessed more easily than two.
  assert.ok(Math.abs(newVisitor.guess - 0.056) < 0.001 && Math.abs(returning.guess - 0.161) < 0.001)
})
