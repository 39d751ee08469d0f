import type { BrowserKey } from '../browser-key.ts'
import { makeCheckRun } from '../check-run.ts'
import checkSheet from '../check.css?inline'
import { PohfError } from '../connection.ts'
import { button, el } from '../dom.ts'
import { fillPlaceholders, messagesFor } from '../messages.ts'
import { draw } from '../picture.ts'
import { brokenScreen, consentLines } from '../screens.ts'
import { ownOrigin, type FinishedSession, type Options } from '../session.ts'
import taskSheet from './task.css?inline'
import { taskMessagesFor } from './messages.ts'
import { makeView } from '../view.ts'

type Task = {
  readonly id: string
  readonly prompt: string
  readonly options?: readonly string[]
  readonly media?: readonly string[]
  readonly estSeconds: number
  readonly rewardStars: number
  readonly token: string
}
type Completion = {
  readonly verified: boolean
  readonly rewardStars: number
  readonly reason?: string
  readonly completionId?: string
  readonly sessionId?: string
}

/** Pictures of tasks have this size. */
const picture = { width: 320, height: 200 } as const
const responseTimeoutMs = 15_000
/** As long as an answer may be. */
const lengthMax = 200
const watchMs = 500

const readAttributes = (host: HTMLElement) => {
  const attribute = (name: string) => host.getAttribute(name) ?? undefined
  const baseUrl = attribute('base-url') ?? ownOrigin ?? location.origin
  const site = attribute('site') ?? ''
  return {
    site,
    baseUrl,
    host: new URL(baseUrl).host,
    visitor: attribute('visitor'),
    memberRef: attribute('member-ref'),
    helpUrl: attribute('help-url'),
    privacyUrl: attribute('privacy-url'),
  }
}

/** One call, without cookies. */
const call = async <T>(url: string, body?: unknown): Promise<T> => {
  const response = await fetch(url, {
    ...(body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    credentials: 'omit',
    signal: AbortSignal.timeout(responseTimeoutMs),
  })
  const json = (await response.json()) as T & { readonly error?: string }
  if (!response.ok) throw new PohfError(json.error ?? 'refused')
  return json
}

const optionsOf = (options: readonly string[], choose: (text: string) => void): Node =>
  el(
    'div',
    { class: 'choices', role: 'group', 'aria-labelledby': 'title' },
    ...options.map((option) => {
      const made = button('choice btn', () => choose(option), option)
      made.part.add('option')
      return made
    }),
  )

/** What happens in the element: a task, the questions of the attention check, the answer, the result. */
const createTask = (host: HTMLElement, root: ShadowRoot) => {
  const given = () => readAttributes(host)
  const { lang, messages } = messagesFor(host)
  const own = taskMessagesFor(lang)
  let task: Task | undefined
  let answer = ''
  /** Rises with each start and each stop: what was asked for before is not used any more. */
  let attempt = 0
  /** Who cannot see pictures gets words for every further task too. */
  let prefersWords = false
  /** Shows the question of the task, and ends it with the answer. */
  let ask: (() => void) | undefined
  let stopWatch: (() => void) | undefined

  const tell = (type: string, detail: unknown) =>
    host.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }))
  const view = makeView(messages, lang, () => showIdle())
  const canvas = el('canvas', { role: 'img', 'aria-label': own.picture, part: 'picture' })

  const typedOf = (choose: (text: string) => void): Node => {
    const input = el('input', {
      name: 'answer',
      autocomplete: 'off',
      maxlength: String(lengthMax),
      part: 'input',
    })
    const send = el('button', { class: 'btn main', part: 'button' }, own.send)
    const form = el('form', { class: 'task' }, el('label', {}, own.answer, input), send)
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (input.value.trim()) choose(input.value)
    })
    return form
  }
  const showQuestion = (shown: Task, choose: (text: string) => void): void => {
    const { prompt, options, media } = shown
    view.show({
      state: 'task',
      title: prompt,
      content: [...(media ? [canvas] : []), options ? optionsOf(options, choose) : typedOf(choose)],
    })
    view.focus()
  }
  const askTask = async (): Promise<void> => {
    const shown = task
    if (!shown) return
    const [image] = shown.media ?? []
    if (image !== undefined) await draw(canvas, { image, ...picture })
    await new Promise<void>((resolve) => {
      // After a lost connection the check shows its frame again; the question belongs there.
      const watch = setInterval(() => view.isShowing('opening') && ask?.(), watchMs)
      ask = () =>
        showQuestion(shown, (text) => {
          clearInterval(watch)
          answer = text
          ask = undefined
          resolve()
        })
      stopWatch = () => clearInterval(watch)
      ask()
    })
  }

  const showResult = (done: Completion): void => {
    const isKept = done.verified || done.reason === 'agreement_pending'
    const text = done.rewardStars
      ? fillPlaceholders(own.earned, done.rewardStars)
      : done.reason === 'agreement_pending'
        ? own.waiting
        : ''
    const isOver = !isKept && !done.completionId
    // A right answer without enough attention is not called wrong.
    const isWrong = done.reason?.includes('answer_wrong')
    view.show({
      state: isKept ? 'passed' : 'retry',
      icon: isKept ? 'ok' : 'warn',
      title: isKept ? own.thanks : isOver ? own.over : isWrong ? own.missed : own.uncounted,
      text,
      acts: [button('again btn', () => begin(prefersWords), own.another)],
    })
  }
  const complete = async ({ sessionId }: FinishedSession): Promise<void> => {
    const { baseUrl, site, memberRef } = given()
    const body = { token: task?.token, site, answer, sessionId, memberRef }
    const mine = attempt
    try {
      const done = await call<Completion>(`${baseUrl}/api/tasks/complete`, body)
      if (mine === attempt) showResult(done)
      tell('pohf-task', done)
    } catch (error) {
      fail(error, mine)
    }
  }
  const fail = (error: unknown, mine = attempt): void => {
    const code = error instanceof PohfError ? error.code : 'unreachable'
    if (mine === attempt) view.show(brokenScreen(messages, code, () => begin(prefersWords)))
    tell('pohf-failed', { code })
  }

  const checkRun = makeCheckRun({
    view,
    messages,
    lang,
    given: () => ({
      ...given(),
      ...({ kind: 'task', workflowId: task?.id } as Pick<Options, 'kind' | 'workflowId'>),
      // Never used: a task keeps no key.
      browserKey: {} as BrowserKey,
      remembers: false,
      isRequired: true,
    }),
    isTrapped: () => false,
    onPassed: (finished) => void complete(finished),
    onFailed: (detail) => tell('pohf-failed', detail),
    onLeft: () => showIdle(),
    beforeFinish: askTask,
  })
  view.box.part.add('box')
  view.box.addEventListener('keydown', (event) => checkRun.chooseByKey(event))

  const stop = (): void => {
    attempt += 1
    checkRun.stop()
    stopWatch?.()
    ask = undefined
  }
  const begin = (usesWords: boolean): void => {
    const { baseUrl, site, visitor } = given()
    prefersWords = usesWords
    const query = new URLSearchParams({
      site,
      lang,
      words: usesWords ? '1' : '0',
      ...(visitor ? { visitor } : {}),
    })
    stop()
    const mine = attempt
    view.opening(messages.opening)
    view.focus()
    void call<{ task: Task }>(`${baseUrl}/api/tasks/next?${query}`).then(
      (next) => {
        if (mine !== attempt) return
        task = next.task
        checkRun.begin(usesWords)
      },
      (error: unknown) => mine === attempt && fail(error),
    )
  }
  const showIdle = (): void => {
    stop()
    const go = button(
      'go',
      () => begin(false),
      el('i'),
      el('span', {}, own.start, el('small', {}, fillPlaceholders(own.takes, 20))),
    )
    go.part.add('button')
    view.show({
      state: 'idle',
      content: [go],
      acts: [
        ...consentLines(messages, { ...given(), remembers: false }),
        button('other link', () => begin(true), messages.other),
      ],
    })
  }

  root.adoptedStyleSheets = [checkSheet, taskSheet].map((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet
  })
  root.append(view.box)
  return { showIdle, stop }
}

/** `<pohf-task site="agt_…">`: a micro-task of the site, answered with recorded attention. */
class PohfTask extends HTMLElement {
  #task: ReturnType<typeof createTask> | undefined
  connectedCallback(): void {
    this.#task ??= createTask(this, this.attachShadow({ mode: 'open', delegatesFocus: true }))
    this.#task.showIdle()
  }
  /** Ends the recording when the page removes the element. */
  disconnectedCallback(): void {
    this.#task?.stop()
  }
}
if (!customElements.get('pohf-task')) customElements.define('pohf-task', PohfTask)
