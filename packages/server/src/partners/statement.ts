import { inTransaction } from '../platform/db/db.ts'
import { ApiResponse, type Agent } from '../platform/http/call.ts'
import { csvMediaType, writeLine } from '../platform/http/csv.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { exactPoints } from './rules.ts'
import { listStatement, type StatementRow } from './statement/store.ts'

type Window = { readonly since: Date; readonly until: Date }

const windowDaysMax = 92
const rowsMax = 100_000
const pageRows = 500

/** Append-only: a column is never moved, renamed or dropped. */
const columns = [
  'at',
  'kind',
  'reference',
  'userRef',
  'points',
  'rateStars',
  'ratePoints',
  'stars',
  'dropped',
  'status',
  'paymentRef',
  'totalPoints',
  'totalStarsConverted',
  'totalStarsRequested',
  'totalStarsPaid',
] as const

/** Points are added as whole numbers of such parts. From 0.000001 on, a number has at most 22 digits after the point. */
const partDigits = 22
const partsOf = (points: number): bigint => {
  const { parts, perPoint } = exactPoints(points)
  return (parts * 10n ** BigInt(partDigits)) / perPoint
}
const pointsText = (parts: bigint): string => {
  const text = parts.toString().padStart(partDigits + 1, '0')
  return `${text.slice(0, -partDigits)}.${text.slice(-partDigits)}`.replace(/\.?0+$/, '')
}

/** The running totals of a statement. */
const makeTotals = () => {
  let [points, converted, requested, paid] = [0n, 0n, 0n, 0n]
  return (row: StatementRow): string[] => {
    if (row.kind === 'conversion') {
      points += partsOf(row.points ?? 0)
      converted += row.stars
    } else {
      if (row.status !== 'rejected') requested += row.stars
      if (row.status === 'paid') paid += row.stars
    }
    return [pointsText(points), ...[converted, requested, paid].map(String)]
  }
}

const lineOf = (row: StatementRow, totals: readonly string[]): string =>
  writeLine([
    row.at,
    row.kind,
    row.reference,
    row.userRef,
    row.points,
    row.rateStars === null ? null : String(row.rateStars),
    row.ratePoints === null ? null : String(row.ratePoints),
    String(row.stars),
    row.dropped,
    row.status,
    row.paymentRef,
    ...totals,
  ])

/** The lines, a page at a time; each page is read when the one before was sent. */
async function* writeStatement(ctx: Ctx, { agentId, mode }: Agent, window: Window) {
  yield writeLine(columns)
  const addTotals = makeTotals()
  let after: StatementRow | undefined
  for (let written = 0; written < rowsMax; written += pageRows) {
    const from = after
    const page = await inTransaction(ctx, agentId, (tx) =>
      listStatement(tx, { agentId, mode, ...window, after: from, limit: pageRows }),
    )
    if (page.length > 0) yield page.map((row) => lineOf(row, addTotals(row))).join('')
    after = page.at(-1)
    if (page.length < pageRows || !after) return
  }
  // A statement that is cut says so, and where the next one begins.
  yield writeLine([after?.at ?? '', 'continues', 'request the next window from this time'])
}

/** The conversions and payouts of a partner in a window, for its bookkeeping. */
export const statement = async (ctx: Ctx, agent: Agent, window: Window) => {
  const days = (window.until.getTime() - window.since.getTime()) / 86_400_000
  if (days <= 0 || days > windowDaysMax)
    throw new Refusal('validation_failed', {
      details: [
        {
          path: 'query.until',
          code: 'invalid',
          message: `must be after since, by at most ${windowDaysMax} days`,
        },
      ],
    })
  return new ApiResponse('', {
    headers: { 'content-disposition': 'attachment; filename="statement.csv"', 'cache-control': 'no-store' },
    stream: { mediaType: csvMediaType, pieces: writeStatement(ctx, agent, window) },
  })
}
