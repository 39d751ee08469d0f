import sheetText from './check.css?inline'
import { button } from './dom.ts'
import { fillPlaceholders, messagesFor, type Messages } from './messages.ts'
import { makeProbePresenter } from './probe-presenter.ts'
import { start, type FinishedSession, type Options, type Progress, type Session } from './session.ts'
import { makeView, type Screen } from './view.ts'

/** A hidden tab may paint this much later than the window of a question; an answer after that does not count. */
const deliveryMs = 2_500

export type InlineOptions = Pick<Options, 'site' | 'kind' | 'challenge' | 'baseUrl'> & {
  /** The part of the page in which the questions appear. */
  readonly place: HTMLElement
  /** Before the first question: what it is for, and the button that asks for it. After the last: what comes next. */
  readonly texts: {
    readonly title: string
    readonly why: string
    readonly show: string
    readonly seen: string
    readonly next: string
  }
  readonly onProgress: (progress: Progress) => void
  readonly onLost: (lost: boolean) => void
  /** The recording has ended without having been finished. */
  readonly onFailed: (error: { readonly code: string }) => void
}
/** A recording that runs while a person reads the page. */
export type InlineSession = {
  readonly sessionId: string
  readonly finish: () => Promise<FinishedSession>
  readonly stop: () => void
  /** Leads the person to the question. */
  readonly focus: () => void
}

/** Our box within the frame of the page: without a frame of its own, and without a way to close it. */
const ownSheet = `.w{border:0;border-radius:0;background:none}.in{padding:0}.x{display:none}.btn{flex:none}`

const openHost = (place: HTMLElement) => {
  const host = document.createElement('pohf-questions')
  place.replaceChildren(host)
  const { lang, messages } = messagesFor(host)
  const view = makeView(messages, lang, () => undefined)
  const root = host.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [sheetText, ownSheet].map((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet
  })
  root.append(view.box)
  return { host, view, lang, messages }
}

type Start = {
  readonly messages: Messages
  readonly progress: Progress
  /** What to say about the last question where it did not count. */
  readonly missed: string
  readonly acts: readonly Node[]
}
/** Before a question, and after the last one. */
const startScreen = ({ texts }: InlineOptions, { messages, progress, missed, acts }: Start): Screen => {
  const { done, of, hits } = progress
  if (done >= of)
    return {
      state: 'passed',
      icon: hits > 0 ? 'ok' : 'warn',
      title: hits > 0 ? texts.seen : missed,
      text: hits > 0 ? texts.next : '',
    }
  return {
    state: 'task',
    title: missed || texts.title,
    text: missed ? fillPlaceholders(messages.questionCount, done + 1, of) : texts.why,
    acts,
  }
}

/** Questions within the page. Each is asked when the person asks for it: nobody can read and wait for one at the same time. */
const makeQuestions = (options: InlineOptions, session: () => Session | undefined) => {
  const { host, view, lang, messages } = openHost(options.place)
  const { texts } = options
  let progress: Progress = { done: 0, of: 1, hits: 0 }
  /** What to say about the last question unless the next receipt counts it. */
  let missed = ''

  /** The person pressed before the recording had begun: the question is asked for then. */
  let waiting: 'picture' | 'words' | undefined

  const request = (how: 'picture' | 'words'): void => {
    const running = session()
    waiting = running ? undefined : how
    if (how === 'words') running?.alternative()
    running?.alternative('q')
    view.opening(messages.opening)
  }
  const switchToWords = (): void => request('words')
  const showStart = (): void => {
    const label = missed ? messages.again : texts.show
    const acts = [button('ask btn main', () => request('picture'), label), view.other(switchToWords)]
    view.show(startScreen(options, { messages, progress, missed, acts }))
  }
  const rest = (about: string): void => {
    probes.drop()
    missed = about
    view.rest()
  }
  const probes = makeProbePresenter({
    view,
    session,
    context: () => ({ progress, missed: '' }),
    onAnswered: () => rest(messages.wrong),
    onMissed: () => {
      rest(messages.late)
      session()?.flush()
    },
    onWords: switchToWords,
  })
  view.box.addEventListener('keydown', probes.chooseByKey)
  showStart()
  return {
    lang,
    progress: (next: Progress): void => {
      const isSettled = next.done > progress.done
      if (next.hits > progress.hits) missed = ''
      progress = next
      if (isSettled) showStart()
      if (waiting) request(waiting)
    },
    ask: (probe: Parameters<typeof probes.present>[0]): void =>
      void probes.present(probe, deliveryMs).catch(showStart),
    focus: (): void => {
      host.scrollIntoView({ block: 'center' })
      view.focus()
      view.box.querySelector<HTMLElement>('.ask, .choice, .other')?.focus({ preventScroll: true })
    },
    end: probes.drop,
  }
}

/**
 * Records while a person reads a page of ours and asks the service's questions within it, when the person is ready. The person
 * must have been told what is recorded.
 */
export const startInlineSession = async (options: InlineOptions): Promise<InlineSession> => {
  let session: Session | undefined
  const questions = makeQuestions(options, () => session)
  const { site, kind, challenge, baseUrl } = options
  session = await start({
    ...({ site, kind, challenge, baseUrl } as Options),
    language: questions.lang,
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
  const running = session
  return {
    sessionId: running.sessionId,
    finish: () => running.finish().finally(questions.end),
    stop: () => {
      running.stop()
      questions.end()
    },
    focus: questions.focus,
  }
}
