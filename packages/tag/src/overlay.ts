import { PohfError } from './connection.ts'
import { makeProbePresenter } from './probe-presenter.ts'
import { asksForPrivacy, start, type FinishedSession, type Options, type Session } from './session.ts'
import { makeView, type Progress } from './view.ts'
import type { Messages } from './messages.ts'

/** After this long without an answer of the service the person is asked how to continue. */
const silenceMsMax = 10_000
/** The service asks at most 10 s after an answer; longer means that something is wrong. */
const questionMsMax = 15_000
/** After this many unanswered questions in a row the check assumes that nobody is there. */
const missedMax = 2
/** A hidden tab may paint this much later than the window of a question; an answer after that does not count. */
const deliveryMs = 2_500

export type Outcome =
  | { readonly kind: 'done'; readonly finished: FinishedSession }
  | { readonly kind: 'failed'; readonly code: string }

export type CheckOptions = {
  readonly root: ShadowRoot
  readonly messages: Messages
  readonly lang: string
  readonly options: Pick<Options, 'site' | 'kind' | 'workflowId' | 'challenge' | 'baseUrl'>
  readonly host: string
  /** The site demands the check: the person can close it, but not continue without it. */
  readonly isRequired: boolean
  /** Whether a control was used that no person can see. */
  readonly isTrapped: () => boolean
  readonly onRunning: () => void
}
/** Asks, runs the session and shows its questions, in a dialog over the page. Resolves when the dialog has closed. */
export const runCheck = (check: CheckOptions): Promise<Outcome> => {
  const { messages } = check
  const view = makeView(messages, check.lang)
  const { dialog } = view
  let outcome: Outcome = { kind: 'failed', code: 'left' }
  let session: Session | undefined
  let attempt = 0
  let progress: Progress = { done: 0, of: 3 }
  let usesWords = false
  let missed = 0
  let watch: ReturnType<typeof setInterval> | undefined
  /** When the service last answered, and when the person last saw something new. */
  let heardAt = 0
  let movedAt = 0

  const end = (result: Outcome): void => {
    outcome = result
    dialog.close()
  }
  const wait = (text = messages.wait): void => {
    view.progress(progress)
    view.wait(text, usesWords ? undefined : switchToWords)
  }
  const switchToWords = (): void => {
    usesWords = true
    probes.drop()
    session?.alternative()
    wait()
  }
  const isSilent = (): boolean => performance.now() - heardAt > silenceMsMax
  const leaveStuck = (): void => end({ kind: 'failed', code: isSilent() ? 'unreachable' : 'skipped' })
  const stuck = (text: string): void => {
    probes.drop()
    view.stuck(text, check, { again: begin, leave: leaveStuck })
  }
  const markProgress = (): void => {
    movedAt = performance.now()
  }
  const watchForSilence = (): void => {
    if (view.isShowing('stuck')) return
    if (isSilent()) stuck(messages.stuckLost)
    else if (!probes.isOpen() && performance.now() - movedAt > questionMsMax) stuck(messages.stuckSlow)
  }

  const miss = (): void => {
    probes.drop()
    missed += 1
    markProgress()
    if (missed < missedMax) return wait(messages.missed)
    session?.stop()
    clearInterval(watch)
    stuck(messages.stuckAway)
  }
  const answered = (): void => {
    probes.drop()
    missed = 0
    markProgress()
    wait(messages.took)
  }
  const probes = makeProbePresenter({
    view,
    session: () => session,
    onAnswered: answered,
    onMissed: miss,
    onWords: switchToWords,
  })
  dialog.addEventListener('keydown', probes.chooseByKey)

  const finish = async (running: Session): Promise<void> => {
    probes.drop()
    markProgress()
    view.wait(messages.ending)
    const finished = await running.finish()
    if (running === session) end({ kind: 'done', finished })
  }
  const fail = (error: unknown): void =>
    end({ kind: 'failed', code: error instanceof PohfError ? error.code : 'failed' })

  const hooksOf = (isMine: () => boolean): Partial<Options> => ({
    onProgress: (next, running) => {
      if (!isMine()) return
      session = running
      progress = next
      heardAt = performance.now()
      // The connection is back after the person was told of its loss: the check continues where it stopped.
      if (view.isShowing('stuck')) {
        markProgress()
        wait()
      }
      view.progress(progress)
      if (next.done >= next.of) void finish(running).catch(() => undefined)
    },
    onProbe: (probe) => {
      if (isMine()) void probes.present(probe, deliveryMs).catch(fail)
    },
    onFailed: (error) => {
      if (isMine()) fail(error)
    },
  })
  const begin = (): void => {
    session?.stop()
    session = undefined
    probes.drop()
    missed = 0
    progress = { done: 0, of: 3 }
    attempt += 1
    const mine = attempt
    const isMine = () => mine === attempt && dialog.open
    check.onRunning()
    wait(messages.opening)
    view.focusTitle()
    heardAt = movedAt = performance.now()
    clearInterval(watch)
    watch = setInterval(watchForSilence, 500)
    void start({
      ...check.options,
      language: check.lang,
      element: dialog,
      consent: true,
      ...hooksOf(isMine),
    }).then(
      (running) => {
        if (!isMine()) return running.stop()
        if (check.isTrapped()) running.honeypot()
        if (usesWords) running.alternative()
        if (!probes.isOpen() && view.isShowing('wait')) wait()
      },
      (error: unknown) => {
        if (isMine()) fail(error)
      },
    )
  }

  const beginWithWords = (): void => {
    usesWords = true
    begin()
  }
  view.ask({ host: check.host, isPrivate: asksForPrivacy() }, { start: begin, alternative: beginWithWords })
  check.root.append(dialog)
  dialog.showModal()
  view.focusTitle()
  return new Promise((resolve) =>
    dialog.addEventListener('close', () => {
      clearInterval(watch)
      probes.drop()
      attempt += 1
      if (outcome.kind === 'failed') session?.stop()
      dialog.remove()
      resolve(outcome)
    }),
  )
}
