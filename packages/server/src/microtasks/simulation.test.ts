import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectedAnswerOf, chooseGenerated, seedOf } from './items/generated.ts'
import {
  agreementOf,
  chooseQuestion,
  isExpected,
  isShared,
  isTrusted,
  newVisitor,
  slotOf,
  type VisitorAccuracy,
} from './rules.ts'

// A campaign by the rules themselves, without a database: honest people, and one sort of bot. The bot may fetch as often as
// it likes before it answers, and always answers what it was shown last.

const key = Buffer.alloc(32, 9)
const claimsOfBots = 10_000
const claimsOfPerson = 1_000
const agreement = 3
const optionCount = 4
const knownShare = 0.1
const questionCount = 12_000
const campaignId = 'cpg_simulated'

const makeRandom = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}
const guessOption = (random: () => number) => String(Math.floor(random() * optionCount))
type Shown = { readonly slot: string; readonly n: number; readonly expected: string | undefined }
type Question = { readonly n: number; readonly right: string }
type Bot = {
  /** What it answers; undefined where it returns the item and fetches again. */
  readonly answer: (shown: Shown, random: () => number) => string | undefined
}

/** The Stars that one visitor gets from so many fetches, at one Star for each right answer. */
const play = (bot: Bot, visitor: string, claims = claimsOfBots) => {
  const random = makeRandom(7)
  const accuracies: Record<string, VisitorAccuracy> = { [visitor]: newVisitor }
  const pools = { known: [] as Question[], open: [] as Question[] }
  for (let n = 1; n <= questionCount; n++)
    pools[random() < knownShare ? 'known' : 'open'].push({ n, right: guessOption(random) })
  let [stars, verified, done, shownAgain] = [0, 0, 0, 0]
  let before = ''
  for (let claim = 0; claim < claims; claim++) {
    const standing = accuracies[visitor] ?? newVisitor
    const slot = slotOf(key, { visitor, campaignId }, standing)
    const pool: Question[] = slot === 'generated' ? [] : pools[slot]
    const question = chooseQuestion(key, { visitor, campaignId }, pool.slice(0, 20))
    const seed = seedOf(key, JSON.stringify([visitor, campaignId, standing.done]))
    const expected = question ? question.right : expectedAnswerOf(chooseGenerated(seed, false), seed, 'en')
    const shown = { slot: question ? slot : 'generated', n: question?.n ?? 0, expected }
    const answer = bot.answer(shown, random)
    if (answer === undefined) {
      if (before === JSON.stringify(shown)) shownAgain += 1
      before = JSON.stringify(shown)
      continue
    }
    done += 1
    const isRight = question ? answer === question.right : isExpected(expected, answer)
    // Eight others answer an open question, and are right nine times of ten.
    const others = Array.from({ length: 8 }, () =>
      random() < 0.9 ? expected : String(Math.floor(random() * optionCount)),
    )
    const outcome = slot === 'open' ? agreementOf([answer, ...others], agreement) : undefined
    const agreed = typeof outcome === 'object' ? outcome.agreed === answer : isRight
    const wasTrusted = isTrusted(standing)
    const correct = slot === 'open' ? agreed : isRight
    const after = {
      done: standing.done + 1,
      graded: standing.graded + (question ? 1 : 0),
      correct: standing.correct + (correct && question ? 1 : 0),
      lastCorrect: correct,
    }
    accuracies[visitor] = after
    if (question) pool.splice(pool.indexOf(question), 1)
    if (correct) verified += 1
    if (correct && question && wasTrusted) stars += 1
  }
  return { stars, verified, done, shownAgain }
}

const guessDigits = (random: () => number) => String(Math.floor(random() * 100_000)).padStart(5, '0')

test('random answers: 10,000 claims, none verified and none paid', () => {
  const outcome = play(
    { answer: ({ slot }, random) => (slot === 'generated' ? guessDigits(random) : guessOption(random)) },
    'random',
  )
  assert.deepEqual(outcome, { stars: 0, verified: 0, done: claimsOfBots, shownAgain: 0 })
})

test('a bot that fetches until an item comes whose answer it has learnt is shown the same item 10,000 times', () => {
  const outcome = play(
    // It has collected every known answer of the agent, and can do nothing else.
    { answer: ({ slot, expected }) => (slot === 'known' ? expected : undefined) },
    'returns',
  )
  assert.deepEqual(outcome, { stars: 0, verified: 0, done: 0, shownAgain: claimsOfBots - 1 })
})

test('the same bot, guessing what it does not know, is never trusted', () => {
  const outcome = play(
    { answer: ({ slot, expected }, random) => (slot === 'known' ? expected : guessDigits(random)) },
    'learnt',
  )
  assert.equal(outcome.stars, 0)
})

test('a bot that reads pictures and guesses the rest gets less than 1 in 1,000 of what a person gets', (t) => {
  const honest = play({ answer: ({ expected }) => expected }, 'honest', claimsOfPerson)
  const bot = play(
    { answer: ({ slot, expected }, random) => (slot === 'generated' ? expected : guessOption(random)) },
    'reads',
  )
  t.diagnostic(JSON.stringify({ honest, bot }))
  assert.ok(honest.stars > 800, JSON.stringify(honest))
  // A person would get ten times as much from as many claims.
  assert.ok(bot.stars * 100 < honest.stars, JSON.stringify({ honest, bot }))
})

test('an answer that waited in vain is paid where somebody gave the same and none was given more often', () => {
  assert.equal(isShared(['0'], '0'), false)
  assert.equal(isShared(['0', '1'], '0'), false)
  assert.equal(isShared(['0', '0'], '0'), true)
  assert.equal(isShared(['0', '0', '1', '1'], '1'), true)
  assert.equal(isShared(['0', '0', '1', '1', '1'], '0'), false)
})

test('a trusted bot that answers only known questions and returns the rest is stopped by the first open one', () => {
  let [stars, shownAgain] = [0, 0]
  for (let bot = 0; bot < 10; bot++) {
    const outcome = play(
      { answer: ({ slot, expected }) => (slot === 'open' ? undefined : expected) },
      `returns-open-${bot}`,
      claimsOfBots / 10,
    )
    stars += outcome.stars
    shownAgain += outcome.shownAgain
  }
  // A known-answer item comes before the first open question now and then; by chance a tenth of all claims would be known ones.
  assert.ok(stars <= 10, `${stars} Stars`)
  assert.ok(shownAgain > 9_800, `${shownAgain} of ${claimsOfBots} claims were shown the same`)
})
