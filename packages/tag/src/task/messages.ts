/** The texts of a micro-task besides those of the check, in English and German. */
const texts = {
  start: ['Answer a short question', 'Eine kurze Frage beantworten'],
  takes: ['About {} seconds', 'Etwa {} Sekunden'],
  answer: ['Your answer', 'Ihre Antwort'],
  send: ['Send', 'Senden'],
  picture: ['A picture of rings with digits', 'Ein Bild von Ringen mit Ziffern'],
  thanks: ['Thank you.', 'Danke.'],
  earned: ['Stars earned: {}.', 'Erhaltene Stars: {}.'],
  waiting: [
    'Your answer counts once other people agree.',
    'Ihre Antwort zählt, sobald andere Menschen zustimmen.',
  ],
  missed: ['That was not the answer we expected.', 'Das war nicht die erwartete Antwort.'],
  uncounted: ['This answer could not be counted.', 'Diese Antwort konnte nicht gezählt werden.'],
  over: ['This task is over.', 'Diese Aufgabe ist vorbei.'],
  another: ['Another question', 'Noch eine Frage'],
} as const
export type TaskMessages = { readonly [K in keyof typeof texts]: string }

export const taskMessagesFor = (lang: string): TaskMessages =>
  Object.fromEntries(
    Object.entries(texts).map(([key, pair]) => [key, pair[lang === 'de' ? 1 : 0]]),
  ) as TaskMessages
