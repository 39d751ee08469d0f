import type { Filter } from '../../shared/lists/filter.ts'
import type { SessionRecord } from '../wire.ts'

type SessionState = Pick<SessionRecord, 'status' | 'verified' | 'credentialId'>

/** The one word for a session, and its tone. */
export const sessionLabel = ({ status, verified }: SessionState): readonly [word: string, tone: string] => {
  if (verified === true) return ['verified', 'ok']
  if (verified === false) return ['refused', 'stop']
  if (status === 'open') return ['running', 'test']
  return status === 'expired' ? ['expired', ''] : ['being scored', 'warn']
}

/** What became of a session, in a sentence. */
export const sessionText = (session: SessionState): string => {
  if (session.verified === true)
    return session.credentialId === null
      ? 'It was verified. Nobody asked for its credential yet.'
      : 'It was verified, and its credential was minted.'
  if (session.verified === false) return 'It was refused. Nothing is charged for a refused session.'
  if (session.status === 'open') return 'It is running.'
  return session.status === 'expired'
    ? 'It ended without a finish, so it has no score.'
    : 'It has ended and is being scored.'
}

export const sessionFilters: readonly Filter[] = [
  {
    name: 'verified',
    label: 'Result',
    options: [
      ['', 'All results'],
      ['true', 'Verified'],
      ['false', 'Refused'],
    ],
  },
  {
    name: 'kind',
    label: 'Kind',
    options: [
      ['', 'All kinds'],
      ['view', 'View'],
      ['work', 'Work'],
      ['task', 'Task'],
      ['approval', 'Approval'],
      ['presence', 'Presence'],
    ],
  },
  {
    name: 'status',
    label: 'State',
    options: [
      ['', 'All states'],
      ['open', 'Running'],
      ['closed', 'Being scored'],
      ['scored', 'Scored'],
      ['sealed', 'With credential'],
      ['expired', 'Expired'],
    ],
  },
]
