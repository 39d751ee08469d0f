import type { Probe } from '@pohf/protocol'
import { el, sign } from './dom.ts'
import { fill, type Messages } from './messages.ts'

export type Progress = { readonly done: number; readonly of: number }
type ClickHandler = (event: MouseEvent) => void
type DialogState = 'ask' | 'wait' | 'point' | 'choose' | 'stuck'

const button = (text: string, onclick: ClickHandler, kind = '') =>
  el('button', { type: 'button', class: `btn ${kind}`, onclick }, text)

/** The dialog and what it can show. It knows nothing of sessions. */
export const makeView = (words: Messages, lang: string) => {
  const title = el('h2', { id: 'title', tabindex: '-1' })
  const lead = el('p', { id: 'lead' })
  const count = el('p', { class: 'count' })
  const dots = el('div', { class: 'dots', 'aria-hidden': 'true' })
  const stage = el('div', { class: 'stage' })
  const bar = el('div', { class: 'bar', 'aria-hidden': 'true' })
  const actions = el('div', { class: 'actions' })
  const status = el('p', { class: 'hidden', role: 'status' })
  const canvas = el('canvas', { role: 'img', 'aria-label': words.picture })
  const dialog = el('dialog', { lang, 'aria-labelledby': 'title', 'aria-describedby': 'lead' })
  const leave = el(
    'button',
    { type: 'button', class: 'leave', 'aria-label': words.leave, onclick: () => dialog.close() },
    sign('M6 6l12 12M18 6L6 18'),
  )
  dialog.append(
    el('div', { class: 'head' }, el('div', {}, count, title), leave),
    lead,
    stage,
    bar,
    dots,
    actions,
    status,
  )

  const show = (
    look: DialogState,
    texts: { readonly title: string; readonly lead?: string; readonly say?: string },
    onStage: readonly Node[],
    ...buttons: readonly Node[]
  ): void => {
    // A button that has the focus would take it along; its heir, or the title, gets it.
    const focused = actions.getRootNode() as ShadowRoot
    const had = actions.contains(focused.activeElement) ? focused.activeElement?.textContent : undefined
    dialog.className = look
    title.textContent = texts.title
    lead.textContent = texts.lead ?? ''
    stage.replaceChildren(...onStage)
    actions.replaceChildren(...buttons)
    bar.className = 'bar'
    // What the focus does not tell a screen reader, this does.
    status.textContent = texts.say ?? ''
    if (had === undefined) return
    const heir = buttons.find((candidate) => candidate.textContent === had) as HTMLElement | undefined
    ;(heir ?? title).focus()
  }

  return {
    dialog,
    canvas,
    isShowing: (look: DialogState): boolean => dialog.className === look,
    focusTitle: (): void => title.focus(),
    progress: ({ done, of }: Progress): void => {
      count.textContent = fill(of > 3 ? words.more : words.question, { n: Math.min(done + 1, of), of })
      dots.replaceChildren(
        ...Array.from({ length: of }, (_, index) =>
          el('i', { class: index < done ? 'full' : index === done ? 'now' : '' }),
        ),
      )
    },
    ask: (
      given: { readonly host: string; readonly isPrivate: boolean },
      on: { readonly start: ClickHandler; readonly alternative: ClickHandler },
    ): void => {
      const main = button(given.isPrivate ? words.agree : words.start, on.start, 'main')
      show(
        'ask',
        { title: words.askTitle, lead: words.askLead },
        [
          ...(given.isPrivate ? [el('p', { class: 'note' }, words.privacy)] : []),
          el('p', { class: 'small' }, fill(words.recorded, { host: given.host })),
        ],
        main,
        button(given.isPrivate ? words.agreeAlternative : words.alternative, on.alternative),
        button(words.notNow, () => dialog.close(), 'quiet'),
      )
    },
    wait: (text: string, onAlternative?: ClickHandler): void =>
      show(
        'wait',
        { title: text, say: text },
        [el('div', { class: 'empty' })],
        ...(onAlternative ? [button(words.alternative, onAlternative, 'quiet')] : []),
      ),
    point: (onAlternative: ClickHandler): void =>
      show(
        'point',
        { title: words.point, say: words.point },
        [canvas],
        button(words.alternative, onAlternative, 'quiet'),
      ),
    choose: (
      { say, choices }: Extract<Probe, { kind: 'choose' }>,
      onChoice: (index: number, event: MouseEvent) => void,
    ): void => {
      const buttons = choices.map((choice, index) =>
        el(
          'button',
          { type: 'button', class: 'btn choice', onclick: (event: MouseEvent) => onChoice(index, event) },
          el('kbd', {}, String(index + 1)),
          choice,
        ),
      )
      show(
        'choose',
        { title: say },
        [el('div', { class: 'choices', role: 'group', 'aria-labelledby': 'title' }, ...buttons)],
        el('p', { class: 'small', id: 'keys' }, words.keys),
      )
      title.focus()
    },
    stuck: (
      text: string,
      given: { readonly isRequired: boolean },
      on: { readonly again: ClickHandler; readonly leave: ClickHandler },
    ): void => {
      show(
        'stuck',
        { title: words.stuck, lead: given.isRequired ? `${text} ${words.closeNext}` : text },
        [],
        button(words.again, on.again, 'main'),
        button(given.isRequired ? words.close : words.without, on.leave),
      )
      title.focus()
    },
    /** Time runs, for as long as the question counts. */
    run: (ms: number): void => {
      bar.style.setProperty('--ms', `${ms}ms`)
      bar.className = 'bar runs'
    },
  }
}
