import type { Assignment } from './wire.ts'

type Status = Assignment['status']

const chips: Readonly<Record<Status, 'ok' | 'warn' | 'stop' | ''>> = {
  claimed: 'warn',
  delivered: 'warn',
  accepted: 'ok',
  rejected: 'stop',
  appealed: 'warn',
  refused: 'stop',
  not_verified: 'stop',
  returned: '',
  ran_out: '',
}

/** The colour that stands for a state; the word stands beside it. */
export const chipOf = (status: Status): string => chips[status]
