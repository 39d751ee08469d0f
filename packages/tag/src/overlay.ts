import type { Probe } from '@pohf/protocol'
import { PohfError } from './connection.ts'
import { draw, afterPaint, canvasPoint } from './picture.ts'
import { sourceOf } from './listeners.ts'
import { asksForPrivacy, start, type FinishedSession, type Options, type Session } from './session.ts'
import { makeView, type Progress } from './view.ts'
import type { Messages } from './messages.ts'

/** Nothing came from the service for so long: the person is told and given a choice. */
const silenceMsMax = 10_000
/** The service asks at most 10 s after an answer; longer means that something is wrong. */
const questionMsMax = 15_000
/** So many questions in a row without an answer, and nobody seems to be there. */
const missedMax = 2
/** What a hidden tab holds back for longer than its window and this cannot count any more. */
const deliveryMs = 2_500

export type Outcome =
  | { readonly kind: 'done'; readonly finished: FinishedSession }
  | { readonly kind: 'failed'; readonly code: string }

export type CheckOptions = {
  readonly root: ShadowRoot
  readonly words: Messages
  readonly lang: string
  readonly options: Pick<Options, 'site' | 'kind' | 'workflowId' | 'challenge' | 'baseUrl'>
  readonly host: string
  /** The site demands the check: there is a way out, and none on without it. */
  readonly isRequired: boolean
  /** Whether a control was used that no person can see. */
  readonly isTrapped: () => boolean
  readonly onRunning: () => void
}
type OpenProbe = { readonly probe: Probe; timer?: ReturnType<typeof setTimeout> }

/** Asks, runs the session and shows its questions, in a dialog over the page. Resolves when the dialog has closed. */
export const runCheck = (check: CheckOptions): Promise<Outcome> => {
  const { words } = check
  const view = makeView(words, check.lang)
  const { dialog, canvas } = view
  let outcome: Outcome = { kind: 'failed', code: 'left' }
  let session: Session | undefined
  let attempt = 0
  let progress: Progress = { done: 0, of: 3 }
  let usesWords = false
  let missed = 0
  let openProbe: OpenProbe | undefined
  let watch: ReturnType<typeof setInterval> | undefined
  /** When the service was last heard, and when something last moved on for the person. */
  let heardAt = 0
  let movedAt = 0

  const end = (result: Outcome): void => {
    outcome = result
    dialog.close()
  }
  const dropProbe = (): void => {
    clearTimeout(openProbe?.timer)
    openProbe = undefined
  }
  const wait = (text = words.wait): void => {
    view.progress(progress)
    view.wait(text, usesWords ? undefined : switchToWords)
  }
  const switchToWords = (): void => {
    usesWords = true
    dropProbe()
    session?.alternative()
    wait()
  }
  const isSilent = (): boolean => performance.now() - heardAt > silenceMsMax
  const leaveStuck = (): void => end({ kind: 'failed', code: isSilent() ? 'unreachable' : 'skipped' })
  const stuck = (text: string): void => {
    dropProbe()
    view.stuck(text, check, { again: begin, leave: leaveStuck })
  }
  const markProgress = (): void => {
    movedAt = performance.now()
  }
  const watchForSilence = (): void => {
    if (view.isShowing('stuck')) return
    if (isSilent()) stuck(words.stuckLost)
    else if (!openProbe && performance.now() - movedAt > questionMsMax) stuck(words.stuckSlow)
  }

  const miss = (): void => {
    dropProbe()
    missed += 1
    markProgress()
    if (missed < missedMax) return wait(words.missed)
    session?.stop()
    clearInterval(watch)
    stuck(words.stuckAway)
  }
  const answered = (): void => {
    dropProbe()
    missed = 0
    markProgress()
    wait(words.took)
  }
  const choose = (choice: number, event: MouseEvent | KeyboardEvent): void => {
    if (!openProbe) return
    const by =
      event instanceof KeyboardEvent ? ({ how: 'k', trusted: event.isTrusted } as const) : sourceOf(event)
    session?.choose(openProbe.probe.id, by, { timeStamp: event.timeStamp, choice })
    answered()
  }
  canvas.addEventListener('click', (event) => {
    const { how, trusted } = sourceOf(event)
    // A click without a place comes from a keyboard or a screen reader, for whom there are words.
    if (!openProbe || how === 'k') return
    session?.point(
      openProbe.probe.id,
      { how, trusted },
      { timeStamp: event.timeStamp, ...canvasPoint(canvas, event) },
    )
    answered()
  })
  dialog.addEventListener('keydown', (event) => {
    const index = '123456789'.indexOf(event.key)
    if (openProbe?.probe.kind === 'choose' && index >= 0 && index < openProbe.probe.choices.length)
      choose(index, event)
  })

  const ask = async (probe: Probe): Promise<void> => {
    const mine: OpenProbe = { probe }
    dropProbe()
    openProbe = mine
    mine.timer = setTimeout(miss, probe.windowMs + deliveryMs)
    if (probe.kind === 'point') await draw(canvas, probe)
    if (openProbe !== mine) return
    if (probe.kind === 'point') view.point(switchToWords)
    else view.choose(probe, choose)
    await afterPaint()
    if (openProbe !== mine) return
    session?.shown(probe.id)
    clearTimeout(mine.timer)
    mine.timer = setTimeout(miss, probe.windowMs)
    view.run(probe.windowMs)
  }
  const finish = async (running: Session): Promise<void> => {
    dropProbe()
    markProgress()
    view.wait(words.ending)
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
      // Back after the person was told: it goes on where it stopped.
      if (view.isShowing('stuck')) {
        markProgress()
        wait()
      }
      view.progress(progress)
      if (next.done >= next.of) void finish(running).catch(() => undefined)
    },
    onProbe: (probe) => {
      if (isMine()) void ask(probe).catch(fail)
    },
    onFailed: (error) => {
      if (isMine()) fail(error)
    },
  })
  const begin = (): void => {
    session?.stop()
    session = undefined
    dropProbe()
    missed = 0
    progress = { done: 0, of: 3 }
    attempt += 1
    const mine = attempt
    const isMine = () => mine === attempt && dialog.open
    check.onRunning()
    wait(words.opening)
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
        if (!openProbe && view.isShowing('wait')) wait()
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
      dropProbe()
      attempt += 1
      if (outcome.kind === 'failed') session?.stop()
      dialog.remove()
      resolve(outcome)
    }),
  )
}
