import type { Probe } from '@pohf/protocol'
import sheetText from './check.css?inline'
import { PohfError } from './connection.ts'
import { makeProbePresenter } from './probe-presenter.ts'
import { el } from './dom.ts'
import { start, type FinishedSession, type Options, type Progress, type Session } from './session.ts'
import { makeView } from './view.ts'
import { messagesFor } from './messages.ts'

/** Time to look up from the work before a question appears; the window of the question starts afterwards. */
const readyMs = 800
/** How long the result of a question can be read. */
const feedbackMs = 700
/** A hidden tab may paint this much later than the window of a question; an answer after that does not count. */
const deliveryMs = 2_000

export type AttendOptions = Pick<Options, 'site' | 'kind' | 'workflowId' | 'challenge' | 'baseUrl'> & {
  /** Words instead of pictures, from the first question on. */
  readonly usesWords: boolean
  /** The text before a question, the text after it, and the label of the button that skips it. */
  readonly texts: { readonly ready: string; readonly thanks: string; readonly skip: string }
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
  /** From now on questions are asked in words. */
  readonly switchToWords: () => void
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The dialog, in its own shadow root at the end of the page. */
const openHost = (skip: string) => {
  const host = document.createElement('pohf-questions')
  document.body.append(host)
  const { lang, messages } = messagesFor(host)
  const dialog = el('dialog', { 'aria-labelledby': 'title' })
  const view = makeView({ ...messages, leave: skip }, lang, () => dialog.close())
  dialog.append(view.box)
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(sheetText)
  const root = host.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [sheet]
  root.append(dialog)
  return { host, dialog, view, lang, messages }
}

/** Questions over a page: each one opens the dialog, and its answer closes it again. */
const makeQuestions = (options: AttendOptions, session: () => Session | undefined) => {
  const { host, dialog, view, lang, messages } = openHost(options.texts.skip)
  let usesWords = options.usesWords
  let progress: Progress = { done: 0, of: 2, hits: 0 }
  let closing: ReturnType<typeof setTimeout> | undefined

  const leave = (text: string): void => {
    probes.drop()
    view.opening(text)
    closing = setTimeout(() => dialog.close(), feedbackMs)
  }
  const switchToWords = (): void => {
    usesWords = true
    session()?.alternative()
    if (probes.isOpen()) leave(options.texts.thanks)
  }
  const probes = makeProbePresenter({
    view,
    session,
    context: () => ({ progress, missed: '' }),
    onAnswered: () => leave(options.texts.thanks),
    onMissed: () => {
      session()?.flush()
      leave(messages.late)
    },
    onWords: switchToWords,
  })
  const ask = (probe: Probe): Promise<void> => {
    const presented = probes.present(probe, readyMs + deliveryMs, sleep(readyMs))
    view.opening(options.texts.ready)
    clearTimeout(closing)
    if (!dialog.open) {
      dialog.showModal()
      view.focus()
    }
    return presented
  }
  dialog.addEventListener('keydown', probes.chooseByKey)
  // A question that is closed stays unanswered, and the service settles it when its time is over.
  dialog.addEventListener('close', probes.drop)
  return {
    lang,
    usesWords: () => usesWords,
    switchToWords,
    progress: (next: Progress): void => {
      progress = next
    },
    ask: (probe: Probe): void => void ask(probe).catch(() => leave(messages.late)),
    end: (): void => {
      probes.drop()
      clearTimeout(closing)
      dialog.close()
      host.remove()
    },
  }
}

/**
 * Records while a person works and shows the service's questions over the page. After each answer the focus returns to
 * where it was. The person must have agreed before this is called.
 */
export const startAttendedSession = async (options: AttendOptions): Promise<AttendedSession> => {
  let session: Session | undefined
  const questions = makeQuestions(options, () => session)
  const { site, kind, workflowId, challenge, baseUrl } = options
  try {
    session = await start({
      ...({ site, kind, workflowId, challenge, baseUrl } as Options),
      language: questions.lang,
      words: options.usesWords,
      consent: true,
      onProgress: (progress, running) => {
        session = running
        questions.progress(progress)
        options.onProgress(progress)
      },
      onProbe: questions.ask,
      onLost: options.onLost,
      onFailed: (error) => {
        questions.end()
        options.onFailed(error)
      },
    })
  } catch (error) {
    questions.end()
    throw error
  }
  const running = session
  if (questions.usesWords() && !options.usesWords) running.alternative()
  return {
    sessionId: running.sessionId,
    finish: () => running.finish().finally(questions.end),
    stop: () => {
      running.stop()
      questions.end()
    },
    switchToWords: questions.switchToWords,
  }
}
