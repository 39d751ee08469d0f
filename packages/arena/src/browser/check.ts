// Goes through <pohf-check> in a browser: presses its button and answers what is asked by looking at pixels. The same eyes
// and hand answer questions that come over a page while somebody works on it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { BotOutcome } from '../bots/bot.ts'
import type { Point } from '../generators/types.ts'
import { type Random, uniform } from '../random.ts'
import { findOpenRing } from '../vision/open-ring.ts'
import type { GreyImage } from '../vision/png.ts'

export type Rectangle = Point & { readonly width: number; readonly height: number }

/** Moves a pointer and presses its button, by whatever means. Places are CSS pixels of the page. */
export type PointerControl = {
  readonly reach: (to: Point) => Promise<void>
  readonly press: () => Promise<void>
}

/** Sees a part of the page as pixels. */
export type CaptureArea = (part: Rectangle) => Promise<GreyImage>

export type CheckPlayer = {
  readonly page: Page
  readonly pointer: PointerControl
  readonly captureArea: CaptureArea
  readonly random: Random
  readonly signal: AbortSignal
  /** Milliseconds between seeing and moving. */
  readonly reactionMs: () => number
}

type CheckState = {
  readonly outcome: { readonly sessionId?: string; readonly status?: string; readonly code?: string } | null
  /** The state of the box, or `none` where there is none. */
  readonly state: string
  readonly isQuestionOpen: boolean
  /** The line that counts the questions. */
  readonly question: string
  readonly begin: Rectangle | null
  readonly picture: Rectangle | null
}

/** Of this run alone: a page may have had one before. */
const outcomeScript = `globalThis.arenaOutcome = undefined
for (const name of ['pohf-done', 'pohf-failed'])
  document.addEventListener(name, (event) => { globalThis.arenaOutcome = { ...event.detail } })`

const checkStateScript = `(() => {
  const root = document.querySelector('pohf-check, pohf-questions')?.shadowRoot
  const box = root?.querySelector('.w')
  const place = (element) => {
    if (!element) return null
    const { x, y, width, height } = element.getBoundingClientRect()
    return width > 0 ? { x, y, width, height } : null
  }
  return {
    outcome: globalThis.arenaOutcome ?? null,
    state: box?.dataset.state ?? 'none',
    isQuestionOpen: box?.querySelector('.bar.runs') != null,
    question: box?.querySelector('[role=status] p')?.textContent ?? '',
    begin: place(box?.querySelector('.go')),
    picture: place(box?.querySelector('canvas')),
  }
})()`

/** Lets the page remember how the next check ends. */
export const watchOutcome = (page: Page): Promise<void> => page.evaluate<void>(outcomeScript)

const readCheckState = (page: Page): Promise<CheckState> => page.evaluate<CheckState>(checkStateScript)

type EndedCheck = { readonly sessionId: string; readonly status: string }
/** A verdict other than `passed` names its session as well: the recording is complete, whatever it shows. */
const endedCheck = (outcome: NonNullable<CheckState['outcome']>): EndedCheck => {
  const { sessionId = '', status, code } = outcome
  if (!sessionId) throw new Error(`the check failed: ${code ?? 'no reason given'}`)
  return { sessionId, status: status ?? 'unknown' }
}

/** How the check ended that was watched; waits until the page knows. */
export const readOutcome = async (page: Page): Promise<EndedCheck> => {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const { outcome } = await readCheckState(page)
    if (outcome) return endedCheck(outcome)
    await sleep(50)
  }
  throw new Error('the check named no outcome within 30 s')
}

const inside = (random: Random, { x, y, width, height }: Rectangle): Point => ({
  x: x + width * uniform(random, 0.3, 0.7),
  y: y + height * uniform(random, 0.35, 0.65),
})

const waitFor = async <T>(player: CheckPlayer, find: (state: CheckState) => T | null): Promise<T> => {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const found = find(await readCheckState(player.page))
    if (found !== null) return found
    await sleep(50, undefined, { signal: player.signal })
  }
  throw new Error('the check did not reach the expected state within 30 s')
}

/** On a busy machine the screen may still show an old picture: a ring counts when it is found twice in the same place. */
const attemptsMax = 8
const findStableRing = async (captureArea: CaptureArea, picture: Rectangle) => {
  let before: Point | undefined
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const image = await captureArea(picture)
    const ring = findOpenRing(image)
    if (ring && before && Math.hypot(ring.x - before.x, ring.y - before.y) < 3) return { image, ring }
    before = ring
    await sleep(50)
  }
  return undefined
}

/** Sees the picture, finds the open ring, reaches for it and presses. False where nothing was seen. */
const answerPointQuestion = async (player: CheckPlayer, picture: Rectangle): Promise<boolean> => {
  const { random, pointer, captureArea } = player
  const seenAt = performance.now()
  const seen = await findStableRing(captureArea, picture)
  if (!seen) return false
  const { image, ring } = seen
  await sleep(Math.max(0, player.reactionMs() - (performance.now() - seenAt)))
  const scale = picture.width / image.width
  const near = (value: number) => value * scale + uniform(random, -4, 4)
  await pointer.reach({ x: picture.x + near(ring.x), y: picture.y + near(ring.y) })
  await pointer.press()
  return true
}

/** A question counts for 2.5 s: looking for one comes first, and asking whether all is over is rare. */
const pollsPerDoneCheck = 15

/** The next question may follow at once: then only its number differs. */
const waitUntilOver = (player: CheckPlayer, { question }: CheckState): Promise<true> =>
  waitFor(player, (next) => (next.isQuestionOpen && next.question === question ? null : true))

/** Answers what comes over a page, until there is nothing more to come. Gives how many answers were put in. */
export const answerQuestions = async (
  player: CheckPlayer,
  isDone: () => Promise<boolean>,
): Promise<number> => {
  let answered = 0
  for (let attempt = 0; attempt < 2_000; attempt += 1) {
    const seen = await readCheckState(player.page)
    if (seen.state === 'point' && seen.isQuestionOpen && seen.picture) {
      if (await answerPointQuestion(player, seen.picture)) answered += 1
      await waitUntilOver(player, seen)
    } else if (attempt % pollsPerDoneCheck === 0 && (await isDone())) return answered
    await sleep(40, undefined, { signal: player.signal })
  }
  throw new Error('questions did not end within 2,000 polls')
}

/** Plays the check on a page that is already open, to its end. */
export const passCheck = async (player: CheckPlayer): Promise<BotOutcome> => {
  const { page, pointer, random, signal } = player
  await watchOutcome(page)
  let probes = 0
  let answered = 0
  const press = async (part: Rectangle) => {
    await pointer.reach(inside(random, part))
    await pointer.press()
  }
  await press(await waitFor(player, ({ begin }) => begin))
  for (let attempt = 0; attempt < 4_000; attempt += 1) {
    const seen = await readCheckState(page)
    if (seen.outcome) return { ...endedCheck(seen.outcome), probes, answered }
    if (seen.state === 'stuck') throw new Error('the check is stuck')
    if (seen.state === 'point' && seen.isQuestionOpen && seen.picture) {
      probes += 1
      if (await answerPointQuestion(player, seen.picture)) answered += 1
      await waitUntilOver(player, seen)
    }
    await sleep(40, undefined, { signal })
  }
  throw new Error('the check did not end')
}
