import { inTransaction } from '../../platform/db/db.ts'
import { mailOwnerOf } from '../../platform/net/mail-address.ts'
import {
  clustersOf,
  makeGroups,
  purchaseExclusion,
  unitExclusion,
  type ExclusionReason,
  type Link,
  type WorkGroup,
} from './rules.ts'
import type { IndexDeps, PurchasePosition, UnitPosition } from './sources.ts'

/** How many rows one statement reads. */
const pageRows = 1_000
/** The limit of units and purchases of a month. A month above it is not closed, and the job says so. */
const settledMax = 500_000

type CollectDeps = Pick<IndexDeps, 'ctx' | 'sources'>
type Span = { readonly from: Date; readonly to: Date }
export type CollectedWork = {
  readonly groups: readonly WorkGroup[]
  readonly clusterOf: (node: string) => string
  /** How many units and purchases were left out, by the reason. */
  readonly excluded: Readonly<Partial<Record<ExclusionReason, number>>>
}

const makeCollection = () => {
  const groups = makeGroups()
  const excluded: Partial<Record<ExclusionReason, number>> = {}
  let read = 0
  return {
    groups,
    excluded,
    links: [] as Link[],
    agentIds: new Set<string>(),
    exclude: (reason: ExclusionReason) => {
      excluded[reason] = (excluded[reason] ?? 0) + 1
    },
    count: (rows: number, span: Span) => {
      read += rows
      if (read > settledMax)
        throw new Error(
          `more than ${settledMax} settled units and purchases since ${span.from.toISOString()} while collecting the inputs of the index`,
        )
    },
  }
}
type Collection = ReturnType<typeof makeCollection>

const microPerCent = 10_000n

const collectUnits = async ({ ctx, sources }: CollectDeps, span: Span, into: Collection): Promise<void> => {
  let after: UnitPosition | undefined
  do {
    const page = await inTransaction(ctx, 'system', (tx) =>
      sources.listSettledUnits(tx, { ...span, after, limit: pageRows }),
    )
    into.count(page.length, span)
    for (const unit of page) {
      const { seconds, worker, category, usdCents, position } = unit
      const reason = unitExclusion(unit)
      if (reason !== undefined || seconds === null || worker === null) {
        into.exclude(reason ?? 'not_measured')
        continue
      }
      into.agentIds.add(position.agentId)
      const usdMicro = usdCents * microPerCent
      into.groups.add({ buyer: `agent:${position.agentId}`, worker, category, seconds, usdMicro })
    }
    after = page.length === pageRows ? page.at(-1)?.position : undefined
  } while (after)
}

const collectPurchases = async (
  { ctx, sources }: CollectDeps,
  span: Span,
  into: Collection,
): Promise<void> => {
  let after: PurchasePosition | undefined
  do {
    const page = await inTransaction(ctx, 'system', async (tx) => {
      const purchases = await sources.listSettledPurchases(tx, { ...span, after, limit: pageRows })
      const work = await sources.listSoldWork(
        tx,
        purchases.flatMap(({ unitRef }) => unitRef ?? []),
      )
      return purchases.map((purchase) => ({ purchase, work: work.get(purchase.unitRef ?? '') }))
    })
    into.count(page.length, span)
    for (const { purchase, work } of page) {
      const reason = purchaseExclusion(purchase.usdcMicro, work)
      if (reason !== undefined || !work || work.seconds === null || work.worker === null) {
        into.exclude(reason ?? 'not_measured')
        continue
      }
      const buyer = `wallet:${purchase.payer}`
      if (purchase.agentId !== sources.platformAgentId) {
        into.agentIds.add(purchase.agentId)
        into.links.push([buyer, `agent:${purchase.agentId}`])
      }
      const { worker, seconds, category } = work
      into.groups.add({ buyer, worker, category, seconds, usdMicro: purchase.usdcMicro })
    }
    after = page.length === pageRows ? page.at(-1)?.purchase.position : undefined
  } while (after)
}

/** What connects agents: an account, a confirmed address, the network that they were registered from. */
const collectLinks = async (
  { ctx, sources }: CollectDeps,
  { agentIds, links }: Collection,
): Promise<void> => {
  const ids = [...agentIds]
  for (let at = 0; at < ids.length; at += pageRows) {
    const page = ids.slice(at, at + pageRows)
    const { accounts, origins } = await inTransaction(ctx, 'system', async (tx) => ({
      accounts: await sources.listAccounts(tx, page),
      origins: await sources.listOrigins(tx, page),
    }))
    for (const [agentId, accountId] of accounts) links.push([`agent:${agentId}`, `by-account:${accountId}`])
    for (const { agentId, confirmedEmail, networkTag } of origins) {
      links.push([`agent:${agentId}`, `by-network:${networkTag}`])
      if (confirmedEmail !== null) links.push([`agent:${agentId}`, `by-mail:${mailOwnerOf(confirmedEmail)}`])
    }
  }
}

/** Reads the settled live work of a span of time, page by page, and who paid for it. */
export const collectWork = async (deps: CollectDeps, span: Span): Promise<CollectedWork> => {
  const collection = makeCollection()
  await collectUnits(deps, span, collection)
  await collectPurchases(deps, span, collection)
  await collectLinks(deps, collection)
  return {
    groups: collection.groups.list(),
    clusterOf: clustersOf(collection.links),
    excluded: collection.excluded,
  }
}
