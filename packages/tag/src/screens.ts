import { button, el, link } from './dom.ts'
import { fillPlaceholders, type Messages } from './messages.ts'
import type { FinishedSession } from './session.ts'
import type { Screen } from './view.ts'

type Act = () => void
type Texts = { readonly messages: Messages; readonly lang: string }
type Consent = {
  readonly host: string
  readonly remembers: boolean
  readonly privacyUrl: string | undefined
  readonly helpUrl: string | undefined
}

/** What the person agrees to, in a line, with all of it to unfold. */
export const consentLines = (
  messages: Messages,
  { host, remembers, privacyUrl, helpUrl }: Consent,
): Node[] => [
  el('p', { class: 'sm' }, fillPlaceholders(messages.consent, host)),
  el(
    'details',
    { class: 'sm' },
    el('summary', {}, messages.details),
    `${messages.recorded} ${remembers ? messages.memory : ''}`,
    el(
      'p',
      {},
      ...(privacyUrl ? [link('', privacyUrl, messages.privacyLink)] : []),
      ...(helpUrl ? [link('', helpUrl, messages.help)] : []),
    ),
  ),
]

type IdleOptions = Consent & {
  /** Why a check has to be done again. */
  readonly about: string
  readonly isPrivate: boolean
  readonly isRemembered: boolean
  readonly isDisabled: boolean
}
export const idleScreen = (
  messages: Messages,
  options: IdleOptions,
  on: { readonly start: Act; readonly other: Act },
): Screen => {
  const go = button(
    'go',
    on.start,
    el('i'),
    el(
      'span',
      {},
      options.isPrivate ? messages.agree : messages.start,
      el('small', {}, options.isRemembered ? messages.few : messages.seconds),
    ),
  )
  const other = button('other link', on.other, messages.other)
  go.disabled = other.disabled = options.isDisabled
  const [line = '', details = ''] = consentLines(messages, options)
  return {
    state: 'idle',
    title: options.about,
    text: options.isPrivate ? messages.privacy : '',
    content: [go],
    acts: [line, other, details] as Node[],
  }
}

/** The day and time at which it helps to try again. */
const timeAfter = (seconds: number, lang: string): string =>
  new Date(Date.now() + seconds * 1_000).toLocaleString(lang, {
    weekday: 'long',
    hour: 'numeric',
    minute: 'numeric',
  })

type VerdictActs = {
  readonly again: Act
  readonly other: Act
  readonly helpUrl: string | undefined
}
const retryButtons = (messages: Messages, on: VerdictActs): Node[] => [
  button('again btn main', on.again, messages.again),
  button('other btn', on.other, messages.other),
]
const stepButtons = (messages: Messages, { stepUp = [] }: FinishedSession): Node[] =>
  stepUp.flatMap(({ url }) => (url ? [link('step btn main', url, messages.useKey)] : []))

/** A verdict other than `passed`, with its reasons and what can be done. */
export const verdictScreen = (
  { messages, lang }: Texts,
  finished: FinishedSession,
  on: VerdictActs,
): Screen => {
  const { verdict, reasons, retryAfter, sessionId } = finished
  const isStep = verdict === 'step_up'
  const isBusy = reasons.includes('network_busy')
  const state = isStep ? 'step_up' : verdict === 'retry' ? 'retry' : 'failed'
  const known = reasons.flatMap((code) => messages.why[code] ?? [])
  return {
    state,
    icon: isBusy || state === 'retry' ? 'warn' : isStep ? 'key' : 'stop',
    title: isBusy
      ? messages.busy
      : isStep
        ? messages.step
        : messages[verdict === 'retry' ? 'retry' : 'failed'],
    text: retryAfter ? fillPlaceholders(messages.busyUntil, timeAfter(retryAfter, lang)) : '',
    content: known.length > 0 ? [el('ul', {}, ...known.map((text) => el('li', {}, text)))] : [],
    acts: [
      ...(isStep ? stepButtons(messages, finished) : retryButtons(messages, on)),
      ...(on.helpUrl ? [link('link', on.helpUrl, messages.help)] : []),
      el('p', { class: 'sm' }, `${messages.reference} `, el('code', {}, sessionId)),
    ],
  }
}

/** The check could not run to its end. */
export const brokenScreen = (messages: Messages, code: string, again: Act): Screen => ({
  state: code === 'offline' ? 'offline' : 'failed',
  icon: 'warn',
  title: code === 'offline' ? messages.offline : messages.failed,
  text: code === 'offline' ? '' : (messages.why[code] ?? messages.whyElse),
  acts: [button('again btn main', again, messages.again)],
})
