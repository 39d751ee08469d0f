import type { VerdictReason } from '@pohf/protocol/reasons'

type Pair = readonly [english: string, german: string]

/** Every text that a person sees, in English and German, with places `{}` for values. */
const texts = {
  group: ['Human check', 'Prüfung auf Mensch'],
  start: ['Confirm you’re human', 'Als Mensch bestätigen'],
  agree: ['I agree, start', 'Ich stimme zu, beginnen'],
  seconds: ['About 8 seconds', 'Etwa 8 Sekunden'],
  few: ['A few seconds', 'Wenige Sekunden'],
  consent: [
    'Until the check ends, {} records how you move and when you press keys. Never what you type.',
    'Bis die Prüfung endet, zeichnet {} auf, wie Sie sich bewegen und wann Sie Tasten drücken. Nie, was Sie tippen.',
  ],
  details: ['Details', 'Einzelheiten'],
  recorded: [
    'Also recorded: scrolling, the window size, whether the page is in view. Never what the page says or who you are. This site can see the recording.',
    'Auch aufgezeichnet: das Rollen, die Fenstergröße, ob die Seite zu sehen ist. Nie, was die Seite sagt oder wer Sie sind. Diese Seite kann die Aufzeichnung sehen.',
  ],
  memory: [
    'When you pass, this browser keeps a key for this site for 30 days.',
    'Wenn Sie bestehen, behält dieser Browser 30 Tage einen Schlüssel für diese Seite.',
  ],
  privacy: [
    'Your browser asks sites not to share data. We take that as a no, unless you agree here.',
    'Ihr Browser bittet, keine Daten weiterzugeben. Das ist ein Nein, außer Sie stimmen hier zu.',
  ],
  privacyLink: ['Privacy', 'Datenschutz'],
  help: ['Help', 'Hilfe'],
  other: ['Ask me another way', 'Anders fragen'],
  leave: ['Stop the check', 'Prüfung beenden'],
  opening: ['One moment …', 'Einen Moment …'],
  questionCount: ['Question {} of {}', 'Frage {} von {}'],
  point: ['Press the ring with a gap', 'Drücken Sie auf den Ring mit der Lücke'],
  wrong: ['Not quite.', 'Nicht ganz.'],
  late: ['Too late, no harm.', 'Zu spät, macht nichts.'],
  next: ['Try this one.', 'Hier noch eine Frage.'],
  keys: ['Press a number, or Tab and Enter.', 'Drücken Sie eine Zahl, oder Tab und Enter.'],
  ending: ['Checking your answers', 'Ihre Antworten werden geprüft'],
  passed: ['You passed.', 'Bestanden.'],
  welcome: ['Welcome back.', 'Willkommen zurück.'],
  passedNext: ['Good for {} minutes.', 'Gilt {} Minuten.'],
  forget: ['Forget this browser', 'Diesen Browser vergessen'],
  checkExpired: ['This check has expired', 'Diese Prüfung ist abgelaufen'],
  retry: ['Please try again', 'Bitte noch einmal'],
  failed: ['We couldn’t confirm this check', 'Das ließ sich nicht bestätigen'],
  reference: ['Reference', 'Kennung'],
  again: ['Try again', 'Noch einmal'],
  busy: ['Too many checks from your network', 'Zu viele Prüfungen aus Ihrem Netz'],
  busyUntil: ['Next try: {}.', 'Nächster Versuch: {}.'],
  step: ['This site asks for a security key', 'Diese Seite verlangt einen Sicherheitsschlüssel'],
  useKey: ['Use my security key', 'Sicherheitsschlüssel verwenden'],
  offline: ['You’re offline', 'Sie sind offline'],
  stuck: ['This takes too long', 'Das dauert zu lange'],
  stuckLost: ['The connection is gone. We keep trying.', 'Die Verbindung ist weg. Wir versuchen es weiter.'],
  stuckAway: ['No question was answered.', 'Es kam keine Antwort.'],
  without: ['Go on without the check', 'Ohne Prüfung weiter'],
  whyElse: ['Something went wrong on our side.', 'Bei uns ging etwas schief.'],
} as const

/** Reasons of a verdict that the title of the screen says. */
type TitledReason = 'network_busy' | 'proof_needed'
/** Why a check did not pass or could not run, by code. */
const reasons = {
  questions_missed: [
    'Too few questions were answered correctly and in time.',
    'Zu wenige Fragen wurden richtig und rechtzeitig beantwortet.',
  ],
  page_hidden: ['This page was not in view for long enough.', 'Diese Seite war nicht lange genug zu sehen.'],
  interrupted: [
    'The recording was interrupted, or the clock here is wrong.',
    'Die Aufzeichnung wurde unterbrochen, oder die Uhr geht falsch.',
  ],
  not_confirmed: ['The recording does not tell us enough.', 'Die Aufzeichnung reicht uns nicht.'],
  unreachable: ['The service did not answer.', 'Der Dienst antwortet nicht.'],
  unsupported: ['This needs a newer browser.', 'Dafür braucht es einen neueren Browser.'],
  not_found: [
    'The check is not set up for this page.',
    'Die Prüfung ist für diese Seite nicht eingerichtet.',
  ],
} as const satisfies Readonly<
  Record<Exclude<VerdictReason, TitledReason> | 'unreachable' | 'unsupported' | 'not_found', Pair>
>

type Pairs = Readonly<Record<string, Pair>>
const inLanguage = <T extends Pairs>(pairs: T, index: 0 | 1) =>
  Object.fromEntries(Object.entries(pairs).map(([key, pair]) => [key, pair[index]])) as {
    readonly [K in keyof T]: string
  }

/** The texts in the language nearest to the element's own, and which one that is. */
export const messagesFor = (element: Element) => {
  const isGerman = /^de\b/i.test(element.closest<HTMLElement>('[lang]')?.lang ?? '')
  const index = isGerman ? 1 : 0
  const told = inLanguage(reasons, index)
  const why: Readonly<Record<string, string>> = {
    ...told,
    forbidden: told.not_found,
    rate_limited: texts.busy[index],
  }
  return { lang: isGerman ? 'de' : 'en', messages: { ...inLanguage(texts, index), why } }
}
export type Messages = ReturnType<typeof messagesFor>['messages']

/** Puts the values into the places of the text, in order. */
export const fillPlaceholders = (text: string, ...values: readonly (string | number)[]): string =>
  values.reduce<string>((filled, value) => filled.replace('{}', String(value)), text)
