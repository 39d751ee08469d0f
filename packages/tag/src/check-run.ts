import type { BrowserKey } from './browser-key.ts'
import { PohfError } from './connection.ts'
import { button } from './dom.ts'
import type { Messages } from './messages.ts'
import { makeProbePresenter } from './probe-presenter.ts'
import { brokenScreen, verdictScreen } from './screens.ts'
import { start, type FinishedSession, type Options, type Progress, type Session } from './session.ts'
import type { View } from './view.ts'

/** After this long without an answer of the service the person is asked how to continue. */
const silenceMsMax = 10_000
/** The next question comes with the receipt of an answer; longer means that something is wrong. */
const questionMsMax = 15_000
/** After this many unanswered questions in a row the check assumes that nobody is there. */
const unansweredMax = 2
/** A hidden tab may paint this much later than the window of a question; an answer after that does not count. */
const deliveryMs = 2_500
/** A verdict that comes sooner is shown without a screen before it. */
const patienceMs = 300
const verdictPollMs = 1_000
const verdictPollsMax = 30
/** How often, and for how long, the check asks whether the person has stepped up in the other tab. */
const stepPollMs = 2_000
const stepPollsMax = 450

const noProgress: Progress = { done: 0, of: 2, hits: 0 }
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

type CheckRunOptions = {
  readonly view: View
  readonly messages: Messages
  readonly lang: string
  /** What the element says at the moment of a start. */
  readonly given: () => Pick<Options, 'site' | 'kind' | 'workflowId' | 'challenge' | 'baseUrl'> & {
    readonly browserKey: BrowserKey
    readonly remembers: boolean
    readonly helpUrl: string | undefined
    /** The site demands the check: the person can close it, but not continue without it. */
    readonly isRequired: boolean
  }
  /** Whether a control was used that no person can see. */
  readonly isTrapped: () => boolean
  /** `ms`: how long ago the session ended, which is long ago after a step-up. */
  readonly onPassed: (finished: FinishedSession, returning: boolean, ms: number) => void
  readonly onFailed: (detail: { readonly code: string } | FinishedSession) => void
  /** The person goes on without the check. */
  readonly onLeft: (code: string) => void
  /** What is recorded after the questions: the session ends when this does. */
  readonly beforeFinish?: () => Promise<void>
}

/** One check from its start to its verdict, and again as often as the person wants. */
export const makeCheckRun = (options: CheckRunOptions) => {
  const { view, messages, lang, given, isTrapped, onPassed, onFailed, onLeft } = options
  let session: Session | undefined
  let attempt = 0
  let progress = noProgress
  /** What to say about the last question where it was missed. */
  let missed = ''
  let unanswered = 0
  let usesWords = false
  let phase: 'over' | 'asking' | 'finishing' = 'over'
  let watch: ReturnType<typeof setInterval> | undefined
  /** When the service last answered, and when the person last saw something new. */
  let heardAt = 0
  let movedAt = 0
  let endedAt = 0

  const claim = (): (() => boolean) => {
    const mine = attempt
    return () => mine === attempt
  }
  /** Ends it at once; nothing more is sent, and nothing of it is used. */
  const stop = (): void => {
    attempt += 1
    phase = 'over'
    clearInterval(watch)
    probes.drop()
    session?.stop()
    session = undefined
  }
  const again = (): void => begin(usesWords)
  const beginWithWords = (): void => begin(true)

  const showOpening = (): void =>
    usesWords
      ? view.opening(messages.opening)
      : view.opening(messages.point, messages.opening, view.other(switchToWords))
  const switchToWords = (): void => {
    if (!session) return beginWithWords()
    usesWords = true
    session.alternative()
    rest('')
    showOpening()
  }
  /** A question is over; `about` is what to say should the next receipt not count it. */
  const rest = (about: string): void => {
    probes.drop()
    missed = about
    movedAt = performance.now()
    view.rest()
  }
  const isSilent = (): boolean => performance.now() - heardAt > silenceMsMax
  const leave = (): void => onLeft(isSilent() ? 'unreachable' : 'skipped')
  const showStuck = (text: string): void => {
    probes.drop()
    view.show({
      state: 'stuck',
      icon: 'warn',
      title: messages.stuck,
      text,
      acts: [
        button('again btn main', again, messages.again),
        ...(given().isRequired ? [] : [button('btn', leave, messages.without)]),
      ],
    })
  }
  const watchForSilence = (): void => {
    if (view.isShowing('stuck')) return
    if (isSilent()) showStuck(messages.stuckLost)
    else if (phase === 'asking' && !probes.isOpen() && performance.now() - movedAt > questionMsMax)
      showStuck('')
  }
  const fail = (error?: unknown): void => {
    const code = error instanceof PohfError ? error.code : 'failed'
    stop()
    view.show(brokenScreen(messages, code, again))
    onFailed({ code })
  }

  const probes = makeProbePresenter({
    view,
    session: () => session,
    context: () => ({ progress, missed }),
    onAnswered: () => {
      unanswered = 0
      rest(messages.wrong)
    },
    onMissed: () => {
      rest(messages.late)
      session?.flush()
      unanswered += 1
      if (unanswered < unansweredMax) return
      stop()
      showStuck(messages.stuckAway)
    },
    onWords: switchToWords,
  })

  const tell = (finished: FinishedSession, { returning }: Session): void => {
    if (finished.verdict === 'passed') return onPassed(finished, returning, performance.now() - endedAt)
    const { helpUrl } = given()
    view.show(verdictScreen({ messages, lang }, finished, { again, other: beginWithWords, helpUrl }))
    onFailed({ ...finished, code: finished.verdict })
  }
  const poll = async (running: Session, ms: number): Promise<FinishedSession> => {
    await sleep(ms)
    heardAt = performance.now()
    return running.verdict()
  }
  const finish = async (running: Session): Promise<void> => {
    const isMine = claim()
    phase = 'finishing'
    await options.beforeFinish?.()
    rest('')
    const waiting = setTimeout(
      () => isMine() && view.show({ state: 'waiting', icon: 'wait', title: messages.ending }),
      patienceMs,
    )
    let finished = await running.finish()
    endedAt = performance.now()
    for (let polls = 0; finished.verdict === 'pending' && polls < verdictPollsMax && isMine(); polls += 1)
      finished = await poll(running, verdictPollMs)
    clearTimeout(waiting)
    if (!isMine()) return
    clearInterval(watch)
    phase = 'over'
    if (finished.verdict === 'pending') return fail()
    tell(finished, running)
    if (finished.verdict !== 'step_up') return
    for (let polls = 0; finished.verdict === 'step_up' && polls < stepPollsMax && isMine(); polls += 1)
      finished = await poll(running, stepPollMs)
    if (isMine() && finished.verdict !== 'step_up') tell(finished, running)
  }
  const advance = (next: Progress, running: Session): void => {
    session = running
    heardAt = performance.now()
    if (next.hits > progress.hits) missed = ''
    progress = next
    // The connection is back after the person was told of its loss: the check continues where it stopped.
    if (view.isShowing('stuck')) {
      movedAt = heardAt
      showOpening()
    }
    if (next.done < next.of || phase !== 'asking') return
    const isMine = claim()
    void finish(running).catch((error: unknown) => isMine() && fail(error))
  }

  /** Starts a new session, and leaves the one before incomplete. */
  const begin = (withWords: boolean, consent = true): void => {
    stop()
    progress = noProgress
    missed = ''
    unanswered = 0
    usesWords = withWords
    phase = 'asking'
    showOpening()
    view.focus()
    heardAt = movedAt = performance.now()
    watch = setInterval(watchForSilence, 500)
    const isMine = claim()
    const { browserKey, remembers, site, kind, workflowId, challenge, baseUrl } = given()
    void start({
      ...({ site, kind, workflowId, challenge, baseUrl } as Options),
      language: lang,
      element: view.box,
      consent,
      words: withWords,
      signAsBrowser: async (jkt) => (remembers ? browserKey.sign(jkt) : undefined),
      onProgress: (next, running) => isMine() && advance(next, running),
      onProbe: (probe) => {
        if (isMine()) void probes.present(probe, deliveryMs).catch(fail)
      },
      onFailed: (error) => isMine() && fail(error),
    }).then(
      (running) => {
        if (!isMine()) running.stop()
        else if (isTrapped()) running.honeypot()
      },
      (error: unknown) => isMine() && fail(error),
    )
  }
  return { begin, stop, fail, isRunning: () => phase !== 'over', chooseByKey: probes.chooseByKey }
}
