import { seededRandom, shuffled } from '../../sessions/index.ts'
import { digitsOf } from './digits.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'

export type TaskLanguage = 'en' | 'de'

/** Items that the service makes. Their answers are derived from a seed that never leaves the server. */
export const generatedItems = {
  tsk_open_rings: { kind: 'open_rings', isPicture: true },
  tsk_closed_rings: { kind: 'closed_rings', isPicture: true },
  tsk_words_backwards: { kind: 'words_backwards', isPicture: false },
  tsk_words_sorted: { kind: 'words_sorted', isPicture: false },
} as const
export type GeneratedId = keyof typeof generatedItems

export const isGeneratedId = (id: string): id is GeneratedId => Object.hasOwn(generatedItems, id)
const idsOf = (isPicture: boolean): GeneratedId[] =>
  (Object.keys(generatedItems) as GeneratedId[]).filter((id) => generatedItems[id].isPicture === isPicture)

/** The seed of an item. Nobody computes it from a token: the key stays on the server. */
export const seedOf = (key: Buffer, text: string): string =>
  hmacOf(key).update(`item ${text}`).digest('base64url')

/** Pictures, or words for people who do not see them. Chosen by the seed, so that a caller cannot select. */
export const chooseGenerated = (seed: string, usesWords: boolean): GeneratedId => {
  const ids = idsOf(!usesWords)
  const index = Math.floor(seededRandom(seed, 'kind', 1)() * ids.length)
  return ids[index] ?? 'tsk_open_rings'
}

/** Short words whose first letters differ, so that their order is plain in both languages. */
const vocabularies = {
  en: 'apple bread cloud dance eagle flame glass horse island juice knife lemon music night ocean paper queen river stone table uncle violin water yellow zebra',
  de: 'Adler Brot Dach Ernte Feder Garten Hafen Insel Jacke Kerze Licht Markt Nacht Ofen Papier Quelle Regen Stein Tisch Ufer Vogel Wolke Zucker',
} as const
const wordCount = 4

const shuffledWords = (seed: string, language: TaskLanguage): string[] =>
  shuffled(vocabularies[language].split(' '), seededRandom(seed, 'words', 64)).slice(0, wordCount)

/** The right answer. Words are in the language in which they were asked. */
export const expectedAnswerOf = (id: GeneratedId, seed: string, language: TaskLanguage): string => {
  if (generatedItems[id].isPicture) return digitsOf(seed, id === 'tsk_open_rings')
  const words = shuffledWords(seed, language)
  return (id === 'tsk_words_backwards' ? words.toReversed() : words.toSorted()).join(' ')
}

const prompts = {
  tsk_open_rings: {
    en: 'Type the digits inside the rings that have a gap, row by row.',
    de: 'Geben Sie die Ziffern in den Ringen mit einer Lücke ein, Zeile für Zeile.',
  },
  tsk_closed_rings: {
    en: 'Type the digits inside the rings that have no gap, row by row.',
    de: 'Geben Sie die Ziffern in den Ringen ohne Lücke ein, Zeile für Zeile.',
  },
  tsk_words_backwards: {
    en: 'Type these words from the last to the first:',
    de: 'Geben Sie diese Wörter vom letzten bis zum ersten ein:',
  },
  tsk_words_sorted: {
    en: 'Type these words in alphabetical order:',
    de: 'Geben Sie diese Wörter in alphabetischer Reihenfolge ein:',
  },
} as const

export const promptOf = (id: GeneratedId, seed: string, language: TaskLanguage): string => {
  const prompt = prompts[id][language]
  return generatedItems[id].isPicture ? prompt : `${prompt} ${shuffledWords(seed, language).join(', ')}.`
}

/** The task for a caller without a known site: it pays nothing and mints nothing. */
export const sampleTask = {
  id: 'tsk_sample',
  kind: 'odd_one_out',
  prompt: 'A sample: which word does not belong to the others?',
  options: ['blue', 'green', 'seven', 'red'],
  estSeconds: 8,
  rewardStars: 0,
} as const
export const sampleToken = 'sample'
