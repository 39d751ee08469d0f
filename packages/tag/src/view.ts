import type { Probe } from '@pohf/protocol'
import { button, el, sign } from './dom.ts'
import { fillPlaceholders, type Messages } from './messages.ts'
import type { Progress } from './session.ts'

type State =
  | 'idle'
  | 'opening'
  | 'point'
  | 'choose'
  | 'task'
  | 'waiting'
  | 'passed'
  | 'retry'
  | 'step_up'
  | 'failed'
  | 'stuck'
  | 'offline'

const signs = {
  ok: 'M5 12.5l4.5 5L19 7',
  warn: 'M12 5v9M12 18.6v.1',
  stop: 'M6 6l12 12M18 6L6 18',
  key: 'M3 12a4 4 0 1 0 8 0a4 4 0 1 0-8 0M11 12h10M17 12v4',
  wait: 'M7 12v.1M12 12v.1M17 12v.1',
}

export type Screen = {
  readonly state: State
  readonly icon?: keyof typeof signs
  readonly title?: string
  readonly text?: string
  readonly content?: readonly Node[]
  readonly acts?: readonly Node[]
}
type QuestionState = { readonly progress: Progress; readonly missed: string }

const makeParts = (messages: Messages, lang: string, onStop: () => void) => {
  const title = el('b', { id: 'title' })
  const lead = el('p', { class: 'sm' })
  const stop = button('x', onStop, '×')
  stop.ariaLabel = messages.leave
  const head = el('div', { class: 'q' })
  const body = el('div', { class: 'body' })
  const acts = el('div', { class: 'acts' })
  const foot = el('div', { class: 'foot' })
  return {
    title,
    lead,
    /** The live region, which also takes the focus. */
    status: el('div', { role: 'status', tabindex: '-1' }, title, lead),
    stop,
    head,
    body,
    acts,
    foot,
    box: el(
      'div',
      { class: 'w', role: 'group', 'aria-label': messages.group, lang },
      el('div', { class: 'in' }, head, body, acts),
      foot,
    ),
    bar: el('div', { class: 'bar' }),
    // Not the canvas: a picture that is drawn early would be seen before its time runs.
    blank: el('div', { class: 'blank' }),
    canvas: el('canvas', { role: 'img', 'aria-label': messages.point }),
  }
}

const showIn = (parts: ReturnType<typeof makeParts>, screen: Screen): void => {
  const { box, status, head, body, acts, bar } = parts
  // Replacing what has the focus would lose it: its successor, or the text, gets it.
  const root = box.getRootNode() as ShadowRoot
  const focused = box.contains(root.activeElement) ? root.activeElement : null
  box.dataset['state'] = screen.state
  box.classList.remove('sent')
  bar.className = 'bar'
  parts.title.textContent = screen.title ?? ''
  parts.lead.textContent = screen.text ?? ''
  head.replaceChildren(...(screen.icon ? [sign(screen.icon, signs[screen.icon])] : []), status, parts.stop)
  body.replaceChildren(...(screen.content ?? []))
  acts.replaceChildren(...(screen.acts ?? []))
  if (!focused || focused === root.activeElement) return
  const successor = focused.classList.contains('other') ? '.other' : '.go'
  ;(box.querySelector<HTMLElement>(successor) ?? status).focus()
}

type OnChoice = (index: number, event: MouseEvent) => void
const choicesOf = (choices: readonly string[], onChoice: OnChoice): Node =>
  el(
    'div',
    { class: 'choices', role: 'group', 'aria-labelledby': 'title' },
    ...choices.map((choice, index) =>
      button('choice btn', (event) => onChoice(index, event), el('kbd', {}, String(index + 1)), choice),
    ),
  )

/** The box with its screens, independent of sessions. */
export const makeView = (messages: Messages, lang: string, onStop: () => void) => {
  const parts = makeParts(messages, lang, onStop)
  const { box, status, foot, bar, blank, canvas } = parts
  const show = (screen: Screen): void => showIn(parts, screen)
  const ask = (screen: Screen): void => {
    show({ ...screen, content: [...(screen.content ?? []), bar] })
    // It grows where it is; on a small screen the picture may be below the edge.
    box.scrollIntoView({ block: 'nearest' })
  }
  const count = ({ progress: { done, of } }: QuestionState): string =>
    fillPlaceholders(messages.questionCount, Math.min(done + 1, of), of)
  const other = (onOther: () => void) => button('other link', onOther, messages.other)

  return {
    box,
    canvas,
    show,
    other,
    /** Lines below every screen from now on. */
    note: (...lines: readonly Node[]): void => foot.replaceChildren(...lines),
    isShowing: (state: State): boolean => box.dataset['state'] === state,
    focus: (): void => status.focus({ preventScroll: true }),
    /** The frame, before a question is there. */
    opening: (about: string, text = '', ...buttons: readonly Node[]): void =>
      ask({ state: 'opening', title: about, text, content: [blank], acts: buttons }),
    /** `missed` says that the question before this one was missed. */
    point: (asked: QuestionState, onOther: () => void): void =>
      ask({
        state: 'point',
        title: asked.missed ? `${asked.missed} ${messages.next}` : messages.point,
        text: asked.missed ? `${messages.point}. ${count(asked)}` : count(asked),
        content: [canvas],
        acts: [other(onOther)],
      }),
    choose: (
      { say, choices }: Extract<Probe, { kind: 'choose' }>,
      asked: QuestionState,
      onChoice: OnChoice,
    ): void =>
      ask({
        state: 'choose',
        title: say,
        text: `${asked.missed} ${messages.keys} ${count(asked)}`,
        content: [choicesOf(choices, onChoice)],
      }),
    /** Shows the time that is left, for as long as an answer counts. */
    run: (ms: number): void => {
      bar.style.setProperty('--ms', `${ms}ms`)
      bar.className = 'bar runs'
    },
    /** The question is over, and the next one or the verdict is not there yet: it stays, pale. */
    rest: (): void => {
      bar.className = 'bar'
      box.classList.add('sent')
    },
  }
}
export type View = ReturnType<typeof makeView>
