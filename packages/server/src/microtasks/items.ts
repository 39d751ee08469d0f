/** A small question for a visitor of a site. A known answer never leaves the server. */
export type MicroTask = {
  readonly id: string
  readonly kind: 'odd_one_out' | 'count' | 'compare' | 'transcribe' | 'sentiment' | 'relevance'
  readonly prompt: string
  readonly options?: readonly string[]
  readonly estSeconds: number
  readonly rewardStars: number
  readonly knownAnswer?: string
}

const sentiments = ['positive', 'neutral', 'negative']

/** Ten fixed questions, enough to integrate with. Their answers can be collected, so a correct one proves little. */
export const microTasks: readonly MicroTask[] = [
  {
    id: 'tsk_odd_fruit',
    kind: 'odd_one_out',
    prompt: 'Which word does not belong to the others?',
    options: ['apple', 'pear', 'hammer', 'plum'],
    estSeconds: 8,
    rewardStars: 1,
    knownAnswer: 'hammer',
  },
  {
    id: 'tsk_odd_motion',
    kind: 'odd_one_out',
    prompt: 'Which word does not belong to the others?',
    options: ['run', 'walk', 'crawl', 'table'],
    estSeconds: 8,
    rewardStars: 1,
    knownAnswer: 'table',
  },
  {
    id: 'tsk_count_letters',
    kind: 'count',
    prompt: 'How many letters e are in "the green tree"?',
    estSeconds: 12,
    rewardStars: 1,
    knownAnswer: '5',
  },
  {
    id: 'tsk_count_animals',
    kind: 'count',
    prompt: 'How many animals are named here: fox, chair, owl, lamp, cow, spoon?',
    estSeconds: 10,
    rewardStars: 1,
    knownAnswer: '3',
  },
  {
    id: 'tsk_compare_weight',
    kind: 'compare',
    prompt: 'Which is usually the heaviest?',
    options: ['a feather', 'a bicycle', 'a teaspoon'],
    estSeconds: 7,
    rewardStars: 1,
    knownAnswer: 'a bicycle',
  },
  {
    id: 'tsk_transcribe_sign',
    kind: 'transcribe',
    prompt: 'Write these words in one line, without the stars: mind * the * gap',
    estSeconds: 12,
    rewardStars: 2,
    knownAnswer: 'mind the gap',
  },
  {
    id: 'tsk_sentiment_parcel',
    kind: 'sentiment',
    prompt: 'How does this sound? "It came two days late, but the colour is lovely."',
    options: sentiments,
    estSeconds: 10,
    rewardStars: 1,
  },
  {
    id: 'tsk_sentiment_call',
    kind: 'sentiment',
    prompt: 'How does this sound? "I called three times. Somebody will ring back, they say."',
    options: sentiments,
    estSeconds: 10,
    rewardStars: 1,
  },
  {
    id: 'tsk_relevance_rain',
    kind: 'relevance',
    prompt: 'Somebody searches for "shoes for rain". Does "canvas sandals, open toe" fit?',
    options: ['fits', 'fits a little', 'does not fit'],
    estSeconds: 10,
    rewardStars: 1,
  },
  {
    id: 'tsk_relevance_soup',
    kind: 'relevance',
    prompt: 'Somebody searches for "quick soup for one". Does "stock for 20 guests, 6 hours" fit?',
    options: ['fits', 'fits a little', 'does not fit'],
    estSeconds: 10,
    rewardStars: 1,
  },
]

/** The task for a caller without a known site: it pays nothing and mints nothing. */
export const sampleTask: MicroTask = {
  id: 'tsk_sample',
  kind: 'odd_one_out',
  prompt: 'A sample: which word does not belong to the others?',
  options: ['blue', 'green', 'seven', 'red'],
  estSeconds: 8,
  rewardStars: 0,
}
export const sampleToken = 'sample'

const normalizeText = (text: string): string => text.trim().toLowerCase().replaceAll(/\s+/g, ' ')

/** Whether the answer is not empty. */
export const isAnswered = (answer: unknown): boolean =>
  answer !== undefined && answer !== null && !(typeof answer === 'string' && answer.trim() === '')

/** Whether the answer is correct; null where that is unknown. An answer outside the options is wrong. */
export const gradeAnswer = (task: MicroTask, answer: unknown): boolean | null => {
  if (task.knownAnswer === undefined && task.options === undefined) return null
  if (typeof answer !== 'string' && typeof answer !== 'number') return false
  const normalized = normalizeText(String(answer))
  if (task.knownAnswer !== undefined) return normalized === normalizeText(task.knownAnswer)
  return task.options?.some((option) => normalizeText(option) === normalized) ? null : false
}
