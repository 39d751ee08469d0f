import { rowsText, type PagePlace } from '../../shared/lists/count.ts'
import type { Campaign } from '../wire.ts'

export const campaignLabels: Readonly<
  Record<Campaign['status'], { readonly word: string; readonly tone: string }>
> = {
  active: { word: 'active', tone: 'ok' },
  paused: { word: 'paused', tone: 'warn' },
  ended: { word: 'ended', tone: '' },
}

/** The first line of the page, about the campaigns on it. */
export const campaignsFinding = (campaigns: readonly Campaign[], place: PagePlace): string => {
  if (campaigns.length === 0) return 'No campaign yet'
  const active = campaigns.filter(({ status }) => status === 'active').length
  const exhausted = campaigns.filter(({ exhausted }) => exhausted).length
  const first = `${active} of ${rowsText(campaigns.length, 'campaign', place)} active`
  return exhausted === 0 ? first : `${first}, ${exhausted} out of budget`
}

/** How many questions are settled, of those without a known answer. */
export const progressOf = ({ questions }: Campaign): string => {
  const asked = questions.total - questions.knownAnswers
  return `${questions.agreed} of ${asked} agreed${questions.disagreed === 0 ? '' : `, ${questions.disagreed} given up`}`
}

type NewQuestion = { readonly prompt: string; readonly options: readonly string[]; readonly answer?: string }
/** Questions from lines such as `Does it fit? | yes | *no`: a star marks the known answer. */
export const questionsOf = (text: string): NewQuestion[] | string => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return 'Write at least one question.'
  const questions: NewQuestion[] = []
  for (const [index, line] of lines.entries()) {
    const [prompt = '', ...parts] = line.split('|').map((part) => part.trim())
    const options = parts.map((part) => part.replace(/^\*\s*/, ''))
    const answer = parts.find((part) => part.startsWith('*'))?.replace(/^\*\s*/, '')
    if (prompt === '' || options.length < 2 || options.some((option) => option === ''))
      return `Line ${index + 1} needs a question and at least two answers, divided by |.`
    questions.push({ prompt, options, ...(answer === undefined ? {} : { answer }) })
  }
  return questions
}
