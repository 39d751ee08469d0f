import { rowsText, type PagePlace } from '../../shared/lists/count.ts'
import type { Member } from '../wire.ts'

export const memberStatusLabels: Readonly<
  Record<Member['status'], { readonly word: string; readonly tone: string; readonly next: string }>
> = {
  invited: { word: 'invited', tone: '', next: 'The link was not used yet.' },
  consented: { word: 'consented', tone: 'warn', next: 'The attention check is missing.' },
  enrolled: { word: 'enrolled', tone: 'ok', next: 'Personhood can be verified.' },
  withdrawn: { word: 'withdrawn', tone: 'stop', next: 'This person withdrew consent.' },
}

/** The first line of the page, about the members on it. */
export const membersFinding = (members: readonly Member[], place: PagePlace): string => {
  if (members.length === 0) return 'No member yet'
  const enrolled = members.filter(({ status }) => status === 'enrolled').length
  return `${enrolled} of ${rowsText(members.length, 'member', place)} enrolled`
}
