import type { Assignment } from './wire.ts'

type Status = Assignment['status']

const statusTones: Readonly<Record<Status, 'ok' | 'warn' | 'stop' | ''>> = {
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

const unpaid: ReadonlySet<Status> = new Set(['refused', 'not_verified', 'returned', 'ran_out'])

/** What it pays, or may still pay. */
export const payableStars = ({ status, rewardStars }: Pick<Assignment, 'status' | 'rewardStars'>): number =>
  unpaid.has(status) ? 0 : rewardStars

/** The colour of a status; the word is beside it. */
export const statusTone = (status: Status): (typeof statusTones)[Status] => statusTones[status]
