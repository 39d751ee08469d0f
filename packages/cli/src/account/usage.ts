import type { Usage } from '@pohf/protocol'
import { agentCall, type AgentRemote } from '../command/agent.ts'
import { printAnswer, tableOf } from '../command/output.ts'

const figures = ({ started, ended, verified, refused, spent }: Usage['totals']) =>
  [started, ended, verified, refused, spent] as const

/** `pohf usage`. */
export const showUsage = async (
  options: AgentRemote & { readonly bucket: string; readonly since?: string; readonly until?: string },
): Promise<void> => {
  const { bucket, since, until } = options
  const query = new URLSearchParams({ bucket, ...(since && { since }), ...(until && { until }) })
  const usage = await agentCall<Usage>(options, 'GET', `/api/agents/usage?${query.toString()}`)
  printAnswer(options, usage, () => {
    const { totals, runway } = usage
    const rows = usage.series.map((row) => [
      bucket === 'day' ? row.at.slice(0, 10) : `${row.at.slice(0, 16)}Z`,
      ...figures(row),
    ])
    const head = [bucket.toUpperCase(), 'STARTED', 'ENDED', 'VERIFIED', 'REFUSED', 'SPENT']
    console.log(tableOf(head, [...rows, ['total', ...figures(totals)]]))
    console.log(`\nQuality in tenths from 0 to 1: ${usage.quality.join(' ')}`)
    const left = runway.daysLeft === null ? '' : `, enough for ${runway.daysLeft} days`
    console.log(`${runway.available} credits left, ${runway.spentPerDay} spent a day${left}`)
  })
}
