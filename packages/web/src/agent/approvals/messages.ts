import { jsonTextFault, type ShownField } from '@pohf/verify/approvals'
import { pluralize, timeAgo } from '../../shared/design/time.ts'
import { matchText } from '../../shared/lists/count.ts'
import type { Filter } from '../../shared/lists/filter.ts'
import { formatShare } from '../../shared/plots/scale.ts'
import type { ApprovalFigures, ApprovalReport, Approvals, Approver } from '../wire.ts'

type Label = { readonly word: string; readonly tone: string; readonly text: string }
type Status = Approvals['approvals'][number]['status']

export const approvalLabels: Readonly<Record<Status, Label>> = {
  pending: {
    word: 'pending',
    tone: 'warn',
    text: 'It waits for a decision. Without one it expires, which is a no.',
  },
  approved: { word: 'approved', tone: 'ok', text: 'It can be consumed once, by the key of its audience.' },
  denied: { word: 'denied', tone: 'stop', text: 'A person denied it. The action must not run.' },
  expired: { word: 'expired', tone: '', text: 'Its time is over. The action must not run.' },
  consumed: { word: 'consumed', tone: 'ok', text: 'It was used. It cannot be used again.' },
}

export const approverLabels: Readonly<Record<Approver['status'], Label>> = {
  invited: {
    word: 'invited',
    tone: 'warn',
    text: 'The link in the mail was not used yet. Invite the same address again to send a new one.',
  },
  enrolled: { word: 'enrolled', tone: 'ok', text: 'This person can decide.' },
  removed: { word: 'removed', tone: '', text: 'Nothing new is sent to this person.' },
}

export const noteTexts: Readonly<Record<ShownField['notes'][number], string>> = {
  not_permitted: 'has a character that no value may have: it is shown by its code point',
  hidden_characters: 'has characters that show nothing',
  mixed_scripts: 'mixes letters of scripts that look alike',
  look_alikes: 'has characters that look like other letters, digits or separators',
  other_digits: 'has digits or numbers other than 0 to 9',
  right_to_left: 'has letters that are written from right to left',
  outer_spaces: 'begins or ends with a space',
}

export const statusFilter: Filter = {
  name: 'status',
  label: 'State',
  options: [
    ['', 'Any state'],
    ...(Object.keys(approvalLabels) as Status[]).map(
      (status) => [status, approvalLabels[status].word] as const,
    ),
  ],
}

/** The first line of the page, about the requests on it. */
export const approvalsFinding = (
  { approvals, nextCursor }: Approvals,
  now: number,
  isFiltered: boolean,
  cursor: string | null,
): string => {
  if (isFiltered) return matchText(approvals.length, 'request', { cursor, nextCursor })
  const [latest] = approvals
  if (!latest) return 'No approval was requested yet'
  const waiting = approvals.filter(({ status }) => status === 'pending').length
  if (nextCursor !== null)
    return `${waiting === 0 ? 'None' : waiting} of the latest ${approvals.length} requests ${waiting > 1 ? 'wait' : 'waits'} for a decision`
  return waiting === 0
    ? `Nothing waits. The latest request came ${timeAgo(latest.createdAt, now)}`
    : `${pluralize(waiting, 'request waits', 'requests wait')} for a decision`
}

/** A share with its interval: "83.3%, between 55.2% and 95.3%". */
export const shareText = ({ share, low, high }: ApprovalFigures['caught']): string =>
  share === null || low === null || high === null
    ? 'none yet'
    : `${formatShare(share)}, between ${formatShare(low)} and ${formatShare(high)}`

/** The first line of the report. */
export const reportFinding = ({ team }: ApprovalReport): string => {
  if (team.decisions === 0) return 'Nobody decided anything in this period'
  const { n, of } = team.caught
  return of === 0
    ? `${pluralize(team.decisions, 'decision')}, and no known-bad request among them`
    : `${n} of ${pluralize(of, 'known-bad request')} ${of === 1 ? 'was' : 'were'} caught`
}

export const secondsText = (seconds: number | null): string =>
  seconds === null ? '–' : `${Math.round(seconds)} s`

/** Periods of the report, in days. The first is the one without a choice. */
export const reportPeriods: readonly (readonly [value: string, label: string, days: number])[] = [
  ['', 'Last 30 days', 30],
  ['7d', 'Last 7 days', 7],
  ['90d', 'Last 90 days', 90],
  ['365d', 'Last 365 days', 365],
]

/** Lines of "pointer | label" as an object; a text says what is wrong. */
export const labelsOf = (lines: string): Readonly<Record<string, string>> | string => {
  const labels: Record<string, string> = {}
  for (const line of lines.split('\n').filter((one) => one.trim() !== '')) {
    const [pointer = '', ...label] = line.split('|').map((part) => part.trim())
    if (!pointer.startsWith('/') || label.join('|') === '')
      return `Write "${line.trim()}" as a pointer, a bar and a label: /amount | Amount`
    labels[pointer] = label.join('|')
  }
  return labels
}

/** The JSON object of a field of a form; a text says what is wrong. */
export const objectOf = (text: string): Record<string, unknown> | string => {
  try {
    const value: unknown = JSON.parse(text)
    const fault = jsonTextFault(text)
    if (fault) return `This ${fault.message}.`
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : 'This must be a JSON object.'
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}
