import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadRecord } from '@pohf/protocol/probes'
import type { TelemetryEvent } from '@pohf/protocol/telemetry'
import { deviceScores, evaluateAttention, focusScore, historyScore, probeScore } from '@pohf/scorer'
import { expectedAnswerOf } from './probes.ts'
import { advanceSchedule, nextChunkDelayMs, newSchedule, type Schedule } from './schedule.ts'

type Answer = 'hit' | 'wrong' | 'silent'
type PlayScript = {
  readonly kind?: 'view' | 'work' | 'approval'
  readonly returning?: boolean
  readonly words?: boolean
  /** The answer to the n-th probe, from 0. */
  readonly answers: (n: number) => Answer
  readonly draws?: (step: number) => number
  readonly visible?: boolean
  readonly reactionMs?: number
  readonly stopAfterMs?: number
  readonly from?: Schedule
  /** Whether the person asks for a question now. */
  readonly asks?: (now: number) => boolean
}
type Played = {
  readonly schedule: Schedule
  readonly askedAt: readonly number[]
  readonly kinds: readonly string[]
  /** `of` as the page reads it, after each settled probe. */
  readonly totals: readonly number[]
  readonly endedAt: number
}

const answeringEvents = (
  seed: { kind: 'point' | 'choose'; seed: string },
  shownAt: number,
  play: PlayScript,
  answer: Answer,
) => {
  const truth = expectedAnswerOf(seed)
  const events: TelemetryEvent[] = [{ type: 'shown', t: shownAt, probe: truth.id }]
  if (answer === 'silent') return events
  const by = { t: shownAt + (play.reactionMs ?? 900), probe: truth.id, trusted: true } as const
  const isHit = answer === 'hit'
  events.push(
    truth.kind === 'point'
      ? { ...by, type: 'point', how: 'm', x: truth.x + (isHit ? 0 : 60), y: truth.y }
      : { ...by, type: 'choose', how: 'k', choice: isHit ? truth.choice : (truth.choice + 1) % 4 },
  )
  return events
}

/** Plays a page that sends a chunk with each answer, and otherwise when the receipt asks for it. */
const play = (how: PlayScript): Played => {
  const { kind = 'view', returning = false, words = false } = how
  const draw = (step: number) => how.draws?.(step) ?? 0.5
  let schedule = how.from ?? newSchedule({ kind, returning, words }, 0, { draw: draw(0), seed: 's0' })
  let given = schedule.open?.probe ?? null
  const askedAt = given ? [0] : []
  const kinds: string[] = given ? [given.kind] : []
  const totals: number[] = []
  let now = 0
  for (let step = 1; step < 4_000; step++) {
    const isOver = how.stopAfterMs === undefined ? schedule.done >= schedule.of : now >= how.stopAfterMs
    if (isOver) return { schedule, askedAt, kinds, totals, endedAt: now }
    const before = now
    const wait = nextChunkDelayMs(schedule, kind, now)
    assert.ok(wait >= 200 && wait <= 2_500, `${wait}`)
    const answer = how.answers(askedAt.length - 1)
    const isAnswered = given !== null && answer !== 'silent'
    now += isAnswered ? 20 + (how.reactionMs ?? 900) + 10 : wait
    const events: TelemetryEvent[] = [
      ...(step === 1 && how.visible !== false
        ? [{ type: 'focus', t: 0, visible: true, focused: true, share: 100 } as const]
        : []),
      ...(given ? answeringEvents(given, before + 20, how, answer) : []),
      ...(how.asks?.(now) ? [{ type: 'ask', t: now } as const] : []),
    ]
    const record: ReadRecord = {
      chunk: { seq: step, receipt: '', t0: before, t1: now, environment: null, events, last: null },
      receivedAt: now,
      after: { at: before, token: '', probe: given && expectedAnswerOf(given) },
    }
    const wasOpen: boolean = schedule.open !== null
    const followed = advanceSchedule(schedule, record, kind, { draw: draw(step), seed: `s${step}` })
    assert.ok(followed.schedule.done <= followed.schedule.of, 'of is below done')
    if (followed.schedule.done > schedule.done) totals.push(followed.schedule.of)
    if (followed.opened) {
      assert.ok(!wasOpen || followed.schedule.open?.askedAt === now, 'two are open at once')
      askedAt.push(now)
      kinds.push(followed.opened.kind)
    }
    given = followed.opened
    schedule = followed.schedule
  }
  throw new Error('the session does not end')
}

/** All sequences of six answers. */
const sequences = Array.from({ length: 64 }, (_, bits) =>
  Array.from({ length: 6 }, (_unused, n): Answer => ((bits >> n) & 1 ? 'hit' : 'wrong')),
)
const passes = (hits: number, asked: number) => hits >= 2 && (hits + 1) / (asked + 2) >= 0.6
const passesReturning = (hits: number, asked: number) => passes(hits, asked) || (hits === 1 && asked === 1)
const canPass = (hits: number, asked: number) => passes(hits + 6 - asked, 6)
const hitsIn = (answers: readonly Answer[]) => answers.filter((answer) => answer === 'hit').length

for (const [name, returning, enough] of [
  ['a new visitor', false, passes],
  ['a returning browser', true, passesReturning],
] as const)
  test(`${name} is asked until the answers suffice or cannot suffice within six, and no further`, () => {
    for (const answers of sequences) {
      const { schedule, askedAt } = play({ returning, answers: (n) => answers[n] ?? 'hit' })
      const expected = [1, 2, 3, 4, 5, 6].find(
        (n) => enough(hitsIn(answers.slice(0, n)), n) || !canPass(hitsIn(answers.slice(0, n)), n) || n === 6,
      )
      const text = answers.join(' ')
      assert.deepEqual([schedule.done, schedule.of, askedAt.length], [expected, expected, expected], text)
      assert.equal(schedule.hits, hitsIn(answers.slice(0, expected)), text)
    }
  })

test('a decision asks one probe, when the person is ready for it, and no more while the person reads', () => {
  const silent = play({ kind: 'approval', answers: () => 'hit', asks: () => false, stopAfterMs: 60_000 })
  assert.deepEqual([silent.schedule.done, silent.schedule.of, silent.askedAt], [0, 1, []])
  const read = play({
    kind: 'approval',
    answers: () => 'hit',
    asks: (now) => now >= 20_000,
    stopAfterMs: 60_000,
  })
  assert.deepEqual([read.schedule.done, read.schedule.hits, read.askedAt.length], [1, 1, 1])
  assert.ok((read.askedAt[0] ?? 0) >= 20_000)
})

test('after a miss each further probe of a decision is asked for, and two of three suffice', () => {
  const missed = { kind: 'approval', answers: (n: number) => (n === 0 ? 'wrong' : 'hit') } as const
  const waits = play({ ...missed, asks: (now) => now < 2_600, stopAfterMs: 60_000 })
  assert.deepEqual([waits.schedule.done, waits.schedule.of, waits.askedAt.length], [1, 3, 1])
  const again = play({ ...missed, asks: () => true })
  assert.deepEqual([again.schedule.done, again.schedule.hits], [3, 2])
})

test('asking early or often opens one probe at a time, and only for a decision', () => {
  const view = play({ answers: () => 'hit', asks: () => true })
  assert.deepEqual([view.schedule.done, view.askedAt.length], [2, 2])
  const work: PlayScript = { kind: 'work', answers: () => 'hit', stopAfterMs: 60_000 }
  assert.deepEqual(play({ ...work, asks: () => true }).askedAt, play(work).askedAt)
  const words = play({ kind: 'approval', words: true, answers: () => 'hit', asks: () => true })
  assert.deepEqual([words.kinds, words.schedule.done], [['choose'], 1])
})

const isVerified = ({ done, hits, returning: oneProbe = false }: Schedule, focus: number): boolean =>
  evaluateAttention({
    components: {
      focus,
      probe: probeScore(hits, done),
      input: null,
      gaze: null,
      device: deviceScores.none,
      history: historyScore(0, 0),
    },
    flags: [],
    probesOffered: done,
    oneProbe,
    answerCorrect: null,
  }).verified

test('nobody who passed two of three, or four of six, with the same answers fails now', () => {
  let passedBefore = 0
  for (const answers of sequences) {
    const first = hitsIn(answers.slice(0, 3))
    if (first < 2 && hitsIn(answers) < 4) continue
    passedBefore += 1
    for (const returning of [false, true]) {
      const { schedule } = play({ returning, answers: (n) => answers[n] ?? 'wrong' })
      const enough = returning ? passesReturning : passes
      assert.ok(enough(schedule.hits, schedule.done), `${answers.join(' ')} ${returning}`)
      assert.ok(isVerified(schedule, 1), `${answers.join(' ')} ${returning}`)
    }
  }
  assert.equal(passedBefore, 35)
})

/** `h` is a hit, everything else a wrong answer. */
const totalsOf = (text: string, returning = false) =>
  play({ returning, answers: (n) => (text[n] === 'h' ? 'hit' : 'wrong') }).totals

test('the page is told two questions, after a miss three, after too few of three six', () => {
  assert.deepEqual(totalsOf('hh'), [2, 2])
  assert.deepEqual(totalsOf('hwh'), [2, 3, 3])
  assert.deepEqual(totalsOf('whh'), [3, 3, 3])
  assert.deepEqual(totalsOf('wwhhhh'), [3, 3, 6, 6, 6, 6])
  assert.deepEqual(totalsOf('www'), [3, 3, 3])
  assert.deepEqual(totalsOf('hwww'), [2, 3, 6, 4])
  assert.deepEqual(totalsOf('h', true), [1])
  assert.deepEqual(totalsOf('whh', true), [3, 3, 3])
  assert.equal(newSchedule({ kind: 'view', returning: true, words: false }, 0, { draw: 0, seed: 's' }).of, 1)
})

test('nobody waits in a check: each question comes with the receipt that settles the one before', () => {
  const { askedAt, endedAt } = play({ answers: () => 'hit' })
  assert.deepEqual(askedAt, [0, 930])
  assert.equal(endedAt, 1_860)
})

test('an unanswered question is settled after its window, and the next one comes at once', () => {
  const { askedAt, schedule } = play({ answers: () => 'silent' })
  assert.deepEqual([schedule.done, schedule.of, schedule.hits], [3, 3, 0])
  for (const [index, at] of askedAt.entries())
    assert.ok(index === 0 || at - (askedAt[index - 1] ?? 0) <= 3_000, askedAt.join(' '))
})

test('with words, every question is in words', () => {
  assert.deepEqual(play({ words: true, answers: () => 'hit' }).kinds, ['choose', 'choose'])
})

test('while the page was seen for too short a time, one more question comes, six at most', () => {
  const quick = play({ answers: () => 'hit', reactionMs: 300 })
  assert.deepEqual([quick.schedule.done, quick.schedule.hits], [4, 4])
  const returning = play({ returning: true, answers: () => 'hit', reactionMs: 300 })
  assert.equal(returning.schedule.done, 2)
  const unseen = play({ answers: () => 'hit', visible: false })
  assert.deepEqual([unseen.schedule.done, unseen.schedule.of], [6, 6])
})

/** Numbers in [0, 1) from a seed: the same in every run. */
const makeDraws = (seed: number) => (step: number) => {
  const mixed = Math.imul((seed * 7_919 + step * 104_729) ^ 0x5bd1e995, 2_654_435_761) >>> 0
  return (Math.imul(mixed ^ (mixed >>> 15), 2_246_822_519) >>> 0) / 2 ** 32
}

test('in an hour of work no two minutes are without a question, and the questions are not regular', () => {
  const waits: number[] = []
  for (let seed = 0; seed < 20; seed += 1) {
    const { askedAt, schedule, endedAt } = play({
      kind: 'work',
      answers: () => 'hit',
      draws: makeDraws(seed),
      stopAfterMs: 3_600_000,
    })
    const all = [0, ...askedAt, endedAt]
    const gaps = all.slice(1).map((at, index) => at - (all[index] ?? 0))
    assert.ok(Math.max(...gaps) <= 120_000, `${Math.max(...gaps)} ms without a question`)
    const early = askedAt.filter((at) => at < 28_000).length
    assert.ok(early >= 2 && early <= 4, `${early} come early`)
    assert.ok(askedAt.length >= 33 && askedAt.length <= 90, `${askedAt.length} questions in an hour`)
    assert.equal(schedule.hits, schedule.done)
    waits.push(...gaps.slice(early, -1))
  }
  assert.ok(waits.every((wait) => wait >= 29_900))
  const short = waits.filter((wait) => wait < 60_000).length / waits.length
  assert.ok(short > 0.3 && short < 0.5, `${short} of the waits are below a minute`)
})

test('work that is handed in as soon as the page allows it has enough answers and was long enough in view', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const { schedule, endedAt } = play({
      kind: 'work',
      answers: () => 'hit',
      draws: makeDraws(seed),
      reactionMs: 400,
    })
    assert.ok(isVerified(schedule, focusScore('work', endedAt, false)), `${schedule.done} in ${endedAt} ms`)
  }
})

test('a person who answers no question in work is still asked throughout', () => {
  const { askedAt, endedAt } = play({
    kind: 'work',
    answers: () => 'silent',
    draws: makeDraws(3),
    stopAfterMs: 600_000,
  })
  const all = [0, ...askedAt, endedAt]
  assert.ok(all.every((at, index) => index === 0 || at - (all[index - 1] ?? 0) <= 120_000))
})

test('while a question of work is open, the page is told to wait for it', () => {
  let last: Schedule = newSchedule({ kind: 'work', returning: false, words: false }, 0, {
    draw: 0,
    seed: 's',
  })
  assert.equal(last.open, null)
  let isOpenSeen = false
  for (let now = 1_000; now < 200_000; now += 2_000) {
    const record: ReadRecord = {
      chunk: { seq: 1, receipt: '', t0: now - 1, t1: now, environment: null, events: [], last: null },
      receivedAt: now,
      after: { at: now - 1, token: '', probe: null },
    }
    last = advanceSchedule(last, record, 'work', { draw: 0.5, seed: `s${now}` }).schedule
    if (last.open) assert.ok(last.of > last.done)
    isOpenSeen ||= last.open !== null
  }
  assert.ok(isOpenSeen)
})

const share = (list: readonly number[], over: number) =>
  list.filter((wait) => wait > over).length / list.length

test('the delay of the first question of work is exponential, so it is memoryless', () => {
  const waits = Array.from(
    { length: 4_000 },
    (_, n) =>
      newSchedule({ kind: 'work', returning: false, words: false }, 0, { draw: (n + 0.5) / 4_000, seed: '' })
        .dueAt - 1_000,
  )
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
  assert.ok(mean > 1_900 && mean < 2_100, `${mean}`)
  // Of those that wait two seconds, as many wait two more as waited the first two.
  const longer = waits.filter((wait) => wait > 2_000)
  assert.ok(Math.abs(share(waits, 2_000) - share(longer, 4_000)) < 0.02)
})

test('a recording that an older version began ends by the new rule', () => {
  const old = { of: 3, dueAt: 0, alternative: false, open: null }
  for (const [done, hits, expected] of [
    [0, 0, 2],
    [1, 1, 2],
    [2, 1, 3],
    [3, 1, 6],
  ] as const) {
    const from: Schedule = { ...old, done, hits, of: done === 3 ? 6 : 3 }
    const { schedule } = play({ from, answers: () => 'hit', visible: false })
    assert.deepEqual([schedule.done, schedule.of], [expected, expected])
  }
})
