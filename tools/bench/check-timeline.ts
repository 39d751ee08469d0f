/** What the widget showed from one moment on, as the page itself saw it. */
type Mark = {
  /** Milliseconds of the page. */
  readonly at: number
  /** `data-state` of the widget. */
  readonly state: string
  /** Whether a question is open: its time runs. */
  readonly isAsking: boolean
}

export type Timeline = {
  /** When the start button was pressed, by mouse or key, or the one that starts with questions in words. */
  readonly startedAt: number | null
  readonly marks: readonly Mark[]
  /** The session that the widget named when it had passed. */
  readonly sessionId: string | null
}

/** Lets a page with the check keep its own timeline. It reads and changes nothing. */
export const watchScript = `(() => {
  const root = document.querySelector('pohf-check').shadowRoot
  const timeline = globalThis.pohfTimeline = { startedAt: null, marks: [], sessionId: null }
  const note = () => {
    const state = root.querySelector('.w')?.dataset.state ?? ''
    const isAsking = root.querySelector('.bar.runs') !== null
    const last = timeline.marks.at(-1)
    if (last && last.state === state && last.isAsking === isAsking) return
    timeline.marks.push({ at: performance.now(), state, isAsking })
  }
  root.addEventListener('click', (event) => {
    if (event.target.closest('.go, .other')) timeline.startedAt ??= event.timeStamp
  }, true)
  document.addEventListener('pohf-done', ({ detail }) => { timeline.sessionId = detail.sessionId })
  new MutationObserver(note).observe(root, { subtree: true, childList: true, attributes: true })
  note()
})()`

export const readScript = 'globalThis.pohfTimeline'

const verdicts = new Set(['passed', 'retry', 'step_up', 'failed', 'stuck', 'offline'])

export type CheckTimes = {
  readonly verdict: string
  /** From the click to the verdict. */
  readonly totalMs: number
  /** The part of it in which no question was open: before the first, after the last, and between them. */
  readonly idleMs: number
  readonly openingMs: number
  readonly endingMs: number
  /** How long each question was open. */
  readonly questionsMs: readonly number[]
}

/** The times of one check. Undefined where it was not started or has no verdict. */
export const timesOf = ({ startedAt, marks }: Timeline): CheckTimes | undefined => {
  const end = marks.find(({ at, state }) => startedAt !== null && at >= startedAt && verdicts.has(state))
  if (startedAt === null || !end) return undefined
  const questions = marks.flatMap(({ at, isAsking }, index) => {
    const isNew = isAsking && marks[index - 1]?.isAsking !== true
    if (!isNew || at < startedAt || at >= end.at) return []
    const until = marks.slice(index).find((mark) => !mark.isAsking || mark === end) ?? end
    return [{ at, until: until.at }]
  })
  const questionsMs = questions.map(({ at, until }) => until - at)
  const totalMs = end.at - startedAt
  return {
    verdict: end.state,
    totalMs,
    idleMs: totalMs - questionsMs.reduce((sum, ms) => sum + ms, 0),
    openingMs: (questions[0]?.at ?? end.at) - startedAt,
    endingMs: end.at - (questions.at(-1)?.until ?? end.at),
    questionsMs,
  }
}
