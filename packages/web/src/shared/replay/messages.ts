import type { Question } from './timeline.ts'

/** Every text of the replay, in one table for each language. `{n}` and the like are filled in. */
const en = {
  locale: 'en',
  play: 'Play',
  pause: 'Pause',
  speed: 'Speed',
  time: 'Time in the session',
  timeValue: '{at} of {of} seconds',
  player: 'Player',
  path: 'The path of the pointer: {points} points, {presses} presses. The lanes below tell the same in time.',
  noPointer: 'No pointer was used in this session. The lanes below show when keys were pressed.',
  away: 'The page was not in view.',
  tracks: {
    inView: 'In view',
    moving: 'Moving',
    presses: 'Presses',
    keys: 'Keys',
    scrolling: 'Scrolling',
    questions: 'Questions',
    notRight: 'not right',
  },
  runs: '{n} runs',
  timesOnly: '{n}, times only',
  rightOf: '{n} of {of} right',
  table: 'The questions and how they were answered',
  question: 'Question',
  answer: 'Answer',
  shown: 'Shown, ms',
  took: 'Took, ms',
  results: {
    hit: 'right',
    wrong: 'wrong place',
    early: 'too early',
    late: 'too late',
    unanswered: 'no answer',
  } satisfies Record<Question['result'], string>,
}
export type ReplayMessages = typeof en

const de: ReplayMessages = {
  locale: 'de',
  play: 'Abspielen',
  pause: 'Anhalten',
  speed: 'Tempo',
  time: 'Zeit in der Aufzeichnung',
  timeValue: '{at} von {of} Sekunden',
  player: 'Abspielen',
  path: 'Der Weg des Zeigers: {points} Punkte, {presses} Mal gedrückt. Die Zeilen darunter sagen dasselbe in der Zeit.',
  noPointer: 'Es wurde kein Zeiger benutzt. Die Zeilen darunter zeigen, wann Tasten gedrückt wurden.',
  away: 'Die Seite war nicht im Blick.',
  tracks: {
    inView: 'Im Blick',
    moving: 'Bewegung',
    presses: 'Gedrückt',
    keys: 'Tasten',
    scrolling: 'Rollen',
    questions: 'Fragen',
    notRight: 'nicht richtig',
  },
  runs: '{n} Züge',
  timesOnly: '{n}, nur Zeiten',
  rightOf: '{n} von {of} richtig',
  table: 'Die Fragen und wie sie beantwortet wurden',
  question: 'Frage',
  answer: 'Antwort',
  shown: 'Gezeigt, ms',
  took: 'Dauer, ms',
  results: {
    hit: 'richtig',
    wrong: 'falsche Stelle',
    early: 'zu früh',
    late: 'zu spät',
    unanswered: 'keine Antwort',
  },
}

export const replayMessages = { en, de } as const

export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
