import type { Probe } from '@pohf/protocol'
import { el, sign } from './dom.ts'
import { fill, type Messages } from './messages.ts'

export type Progress = { readonly done: number; readonly of: number }
type ClickHandler = (event: MouseEvent) => void
type DialogState = 'ask' | 'wait' | 'point' | 'choose' | 'stuck'

const button = (text: string, onclick: ClickHandler, kind = '') =>
  el('button', { type: 'button', class: `btn ${kind}`, onclick }, text)

const makeElements = (messages: Messages, lang: string) => {
  const dialog = el('dialog', { lang, 'aria-labelledby': 'title', 'aria-describedby': 'lead' })
  const elements = {
    dialog,
    title: el('h2', { id: 'title', tabindex: '-1' }),
    lead: el('p', { id: 'lead' }),
    count: el('p', { class: 'count' }),
    dots: el('div', { class: 'dots', 'aria-hidden': 'true' }),
    content: el('div', { class: 'content' }),
    bar: el('div', { class: 'bar', 'aria-hidden': 'true' }),
    actions: el('div', { class: 'actions' }),
    status: el('p', { class: 'hidden', role: 'status' }),
    canvas: el('canvas', { role: 'img', 'aria-label': messages.picture }),
  }
  const { title, lead, count, dots, content, bar, actions, status } = elements
  const leave = el(
    'button',
    { type: 'button', class: 'leave', 'aria-label': messages.leave, onclick: () => dialog.close() },
    sign('M6 6l12 12M18 6L6 18'),
  )
  const head = el('div', { class: 'head' }, el('div', {}, count, title), leave)
  dialog.append(head, lead, content, bar, dots, actions, status)
  return elements
}

type Screen = {
  readonly state: DialogState
  readonly title: string
  readonly lead?: string
  /** A text for screen readers that the focus does not announce. */
  readonly status?: string
  readonly content: readonly Node[]
  readonly buttons: readonly Node[]
}

const show = (elements: ReturnType<typeof makeElements>, screen: Screen): void => {
  const { dialog, title, lead, content, bar, actions, status } = elements
  // Replacing the button that has the focus would lose it; its successor, or the title, gets it.
  const root = actions.getRootNode() as ShadowRoot
  const focused = actions.contains(root.activeElement) ? root.activeElement?.textContent : undefined
  dialog.className = screen.state
  title.textContent = screen.title
  lead.textContent = screen.lead ?? ''
  content.replaceChildren(...screen.content)
  actions.replaceChildren(...screen.buttons)
  bar.className = 'bar'
  status.textContent = screen.status ?? ''
  if (focused === undefined) return
  const successor = screen.buttons.find((candidate) => candidate.textContent === focused)
  ;((successor as HTMLElement | undefined) ?? title).focus()
}

type AskOptions = { readonly host: string; readonly isPrivate: boolean }
type AskHandlers = { readonly start: ClickHandler; readonly alternative: ClickHandler }
const askScreen = (
  messages: Messages,
  { host, isPrivate }: AskOptions,
  on: AskHandlers & { readonly close: ClickHandler },
): Screen => ({
  state: 'ask',
  title: messages.askTitle,
  lead: messages.askLead,
  content: [
    ...(isPrivate ? [el('p', { class: 'note' }, messages.privacy)] : []),
    el('p', { class: 'small' }, fill(messages.recorded, { host })),
  ],
  buttons: [
    button(isPrivate ? messages.agree : messages.start, on.start, 'main'),
    button(isPrivate ? messages.agreeAlternative : messages.alternative, on.alternative),
    button(messages.notNow, on.close, 'quiet'),
  ],
})

type ChooseProbe = Extract<Probe, { kind: 'choose' }>
const chooseScreen = (
  messages: Messages,
  { say, choices }: ChooseProbe,
  onChoice: (index: number, event: MouseEvent) => void,
): Screen => {
  const buttons = choices.map((choice, index) =>
    el(
      'button',
      { type: 'button', class: 'btn choice', onclick: (event: MouseEvent) => onChoice(index, event) },
      el('kbd', {}, String(index + 1)),
      choice,
    ),
  )
  return {
    state: 'choose',
    title: say,
    content: [el('div', { class: 'choices', role: 'group', 'aria-labelledby': 'title' }, ...buttons)],
    buttons: [el('p', { class: 'small', id: 'keys' }, messages.keys)],
  }
}

type StuckHandlers = { readonly again: ClickHandler; readonly leave: ClickHandler }
const stuckScreen = (messages: Messages, text: string, isRequired: boolean, on: StuckHandlers): Screen => ({
  state: 'stuck',
  title: messages.stuck,
  lead: isRequired ? `${text} ${messages.closeNext}` : text,
  content: [],
  buttons: [
    button(messages.again, on.again, 'main'),
    button(isRequired ? messages.close : messages.without, on.leave),
  ],
})

/** The dialog and its screens, independent of sessions. */
export const makeView = (messages: Messages, lang: string) => {
  const elements = makeElements(messages, lang)
  const { dialog, canvas, title, count, dots, bar } = elements
  const alternative = (onAlternative: ClickHandler) => button(messages.alternative, onAlternative, 'quiet')
  return {
    dialog,
    canvas,
    isShowing: (state: DialogState): boolean => dialog.className === state,
    focusTitle: (): void => title.focus(),
    progress: ({ done, of }: Progress): void => {
      count.textContent = fill(of > 3 ? messages.more : messages.question, { n: Math.min(done + 1, of), of })
      dots.replaceChildren(
        ...Array.from({ length: of }, (_, index) =>
          el('i', { class: index < done ? 'full' : index === done ? 'now' : '' }),
        ),
      )
    },
    ask: (options: AskOptions, on: AskHandlers): void =>
      show(elements, askScreen(messages, options, { ...on, close: () => dialog.close() })),
    wait: (text: string, onAlternative?: ClickHandler): void =>
      show(elements, {
        state: 'wait',
        title: text,
        status: text,
        content: [el('div', { class: 'empty' })],
        buttons: onAlternative ? [alternative(onAlternative)] : [],
      }),
    point: (onAlternative: ClickHandler): void =>
      show(elements, {
        state: 'point',
        title: messages.point,
        status: messages.point,
        content: [canvas],
        buttons: [alternative(onAlternative)],
      }),
    choose: (probe: ChooseProbe, onChoice: (index: number, event: MouseEvent) => void): void => {
      show(elements, chooseScreen(messages, probe, onChoice))
      title.focus()
    },
    stuck: (text: string, options: { readonly isRequired: boolean }, on: StuckHandlers): void => {
      show(elements, stuckScreen(messages, text, options.isRequired, on))
      title.focus()
    },
    /** Shows the time that is left, for as long as an answer counts. */
    run: (ms: number): void => {
      bar.style.setProperty('--ms', `${ms}ms`)
      bar.className = 'bar runs'
    },
  }
}
export type View = ReturnType<typeof makeView>
