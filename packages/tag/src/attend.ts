import type { Probe } from '@pohf/protocol'
import sheetText from './check.css?inline'
import { PohfError } from './connection.ts'
import { draw, afterPaint, canvasPoint } from './picture.ts'
import { sourceOf } from './listeners.ts'
import { start, type FinishedSession, type Options, type Session } from './session.ts'
import { makeView, type Progress } from './view.ts'
import { messagesFor } from './messages.ts'

/** Somebody in the middle of a sentence needs this long to look up; the question's own time begins afterwards. */
const readyMs = 800
/** So long what became of a question stays to be read. */
const feedbackMs = 700
/** What a hidden tab holds back for longer than its window and this cannot count any more. */
const deliveryMs = 2_000

export type AttendOptions = Pick<Options, 'site' | 'kind' | 'workflowId' | 'challenge' | 'baseUrl'> & {
  /** Words instead of pictures, from the first question on. */
  readonly usesWords: boolean
  /** What the dialog says before a question, and what its way out is called. */
  readonly texts: { readonly ready: string; readonly skip: string }
  readonly onProgress: (progress: Progress) => void
  readonly onLost: (lost: boolean) => void
  /** The recording has ended without having been finished. */
  readonly onFailed: (error: PohfError) => void
}
/** A recording that runs while a person works on the page. */
export type AttendedSession = {
  readonly sessionId: string
  readonly finish: () => Promise<FinishedSession>
  readonly stop: () => void
  /** From now on words to choose from. */
  readonly switchToWords: () => void
}
type OpenProbe = { readonly probe: Probe; timer?: ReturnType<typeof setTimeout> }

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Records while a person works, and puts the service's questions over the page: each comes, is answered and goes, and
 * the focus is where it was. The person must have agreed before this is called.
 */
export const startAttendedSession = async (options: AttendOptions): Promise<AttendedSession> => {
  const host = document.createElement('pohf-questions')
  document.body.append(host)
  const { lang, words } = messagesFor(host)
  const view = makeView({ ...words, leave: options.texts.skip }, lang)
  const { dialog, canvas } = view
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(sheetText)
  const root = host.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [sheet]
  root.append(dialog)

  let session: Session | undefined
  let usesWords = options.usesWords
  let openProbe: OpenProbe | undefined
  let closing: ReturnType<typeof setTimeout> | undefined

  const dropProbe = (): void => {
    clearTimeout(openProbe?.timer)
    openProbe = undefined
  }
  const open = (): void => {
    clearTimeout(closing)
    if (dialog.open) return
    dialog.showModal()
    view.focusTitle()
  }
  const leave = (text: string): void => {
    dropProbe()
    view.wait(text)
    closing = setTimeout(() => dialog.close(), feedbackMs)
  }
  const switchToWords = (): void => {
    usesWords = true
    session?.alternative()
    if (openProbe) leave(words.took)
  }
  const choose = (choice: number, event: MouseEvent | KeyboardEvent): void => {
    if (!openProbe) return
    const by =
      event instanceof KeyboardEvent ? ({ how: 'k', trusted: event.isTrusted } as const) : sourceOf(event)
    session?.choose(openProbe.probe.id, by, { timeStamp: event.timeStamp, choice })
    leave(words.took)
  }
  canvas.addEventListener('click', (event) => {
    const by = sourceOf(event)
    // A click without a place comes from a keyboard or a screen reader, for whom there are words.
    if (!openProbe || by.how === 'k') return
    const { how, trusted } = by
    session?.point(
      openProbe.probe.id,
      { how, trusted },
      { timeStamp: event.timeStamp, ...canvasPoint(canvas, event) },
    )
    leave(words.took)
  })
  dialog.addEventListener('keydown', (event) => {
    const index = '123456789'.indexOf(event.key)
    if (!view.isShowing('choose') || openProbe?.probe.kind !== 'choose' || event.repeat) return
    if (index >= 0 && index < openProbe.probe.choices.length) choose(index, event)
  })
  // A question that is closed stays unanswered, and the service settles it when its time is over.
  dialog.addEventListener('close', dropProbe)

  const ask = async (probe: Probe): Promise<void> => {
    const mine: OpenProbe = { probe }
    const isMine = () => openProbe === mine
    const miss = () => isMine() && leave(words.missed)
    dropProbe()
    openProbe = mine
    mine.timer = setTimeout(miss, readyMs + probe.windowMs + deliveryMs)
    view.wait(options.texts.ready)
    open()
    await Promise.all([sleep(readyMs), probe.kind === 'point' ? draw(canvas, probe) : undefined])
    if (!isMine()) return
    if (probe.kind === 'point') view.point(switchToWords)
    else view.choose(probe, choose)
    await afterPaint()
    if (!isMine()) return
    session?.shown(probe.id)
    clearTimeout(mine.timer)
    mine.timer = setTimeout(miss, probe.windowMs)
    view.run(probe.windowMs)
  }
  const end = (): void => {
    dropProbe()
    clearTimeout(closing)
    dialog.close()
    host.remove()
  }

  const { site, kind, workflowId, challenge, baseUrl } = options
  const given = { site, kind, workflowId, challenge, baseUrl } as Options
  try {
    session = await start({
      ...given,
      consent: true,
      onProgress: (progress, running) => {
        session = running
        view.progress(progress)
        options.onProgress(progress)
      },
      onProbe: (probe) => void ask(probe).catch(() => leave(words.missed)),
      onLost: options.onLost,
      onFailed: (error) => {
        end()
        options.onFailed(error)
      },
    })
  } catch (error) {
    end()
    throw error
  }
  const running = session
  if (usesWords) running.alternative()
  return {
    sessionId: running.sessionId,
    finish: () => running.finish().finally(end),
    stop: () => {
      running.stop()
      end()
    },
    switchToWords: switchToWords,
  }
}
