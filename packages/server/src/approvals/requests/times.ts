import { approvalRefused, consumeDaysMax, decideDaysMax, decideMinutesMin } from '../rules.ts'

const hourMs = 3_600_000
const dayMs = 86_400_000

type Times = { readonly decideBy?: string | undefined; readonly consumeBy?: string | undefined }

/** The deadlines of a request, in whole milliseconds. */
export const resolveTimes = (
  requested: Times,
  { now, delaySeconds }: { readonly now: Date; readonly delaySeconds: number },
): { readonly decideBy: Date; readonly consumeBy: Date } => {
  const start = now.getTime()
  const decideBy = requested.decideBy === undefined ? start + hourMs : Date.parse(requested.decideBy)
  if (!(decideBy >= start + decideMinutesMin * 60_000 && decideBy <= start + decideDaysMax * dayMs))
    throw approvalRefused('body.decideBy', 'decide_by', 'decideBy must be 1 minute to 7 days from now')
  const firstUse = decideBy + delaySeconds * 1_000
  const consumeBy = requested.consumeBy === undefined ? firstUse + hourMs : Date.parse(requested.consumeBy)
  if (!(consumeBy >= firstUse && consumeBy <= decideBy + consumeDaysMax * dayMs))
    throw approvalRefused(
      'body.consumeBy',
      'consume_by',
      'consumeBy must be after decideBy and the delay, and at most 7 days after decideBy',
    )
  return { decideBy: new Date(decideBy), consumeBy: new Date(consumeBy) }
}
