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
  path: 'The path of the pointer: {points} points, {presses} presses. The timeline below shows the same.',
  noPointer: 'No pointer was used in this session. The timeline below shows when keys were pressed.',
  away: 'The page was in the background.',
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
  pause: 'Pause',
  speed: 'Tempo',
  time: 'Zeit in der Aufzeichnung',
  timeValue: '{at} von {of} Sekunden',
  player: 'Player',
  path: 'Der Weg des Zeigers: {points} Punkte, {presses} Mal gedrückt. Die Zeitleiste darunter zeigt dasselbe.',
  noPointer:
    'Es wurde weder Maus noch Touch benutzt. Die Zeitleiste darunter zeigt, wann Tasten gedrückt wurden.',
  away: 'Die Seite war im Hintergrund.',
  tracks: {
    inView: 'Sichtbar',
    moving: 'Bewegung',
    presses: 'Gedrückt',
    keys: 'Tasten',
    scrolling: 'Scrollen',
    questions: 'Fragen',
    notRight: 'nicht richtig',
  },
  runs: '{n} Abschnitte',
  timesOnly: '{n}, nur Zeiten',
  rightOf: '{n} von {of} richtig',
  table: 'Die Fragen und wie sie beantwortet wurden',
  question: 'Frage',
  answer: 'Antwort',
  shown: 'Angezeigt, ms',
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
