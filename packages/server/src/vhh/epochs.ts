import type { Epoch } from '@pohf/protocol'
import { currentMethod, inputsRootOf, methods, rowsMax, type InputsDocument } from '@pohf/verify/vhh'
import type { EpochDetails } from '../platform/db/columns.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { publishAll } from '../platform/queue/outbox.ts'
import {
  earliestCarriedMonth,
  codeOf,
  compositeCode,
  dueMonths,
  monthSpan,
  presentEpoch,
  usdOf,
} from './rules.ts'
import { collectWork, type CollectedWork } from './sources/collect.ts'
import { documentOf } from './sources/rules.ts'
import type { IndexDeps } from './sources/sources.ts'
import {
  findLastFinal,
  findLatestEpoch,
  insertEpoch,
  insertInputs,
  listCodes,
  type NewEpoch,
} from './store.ts'

type Restatement = { readonly revision: number; readonly reason: string }
type CloseOptions = {
  /** The revision that is replaced, and why; null for the first. */
  readonly restates: Restatement | null
  /** Writes the rows that must commit together with the epochs. */
  readonly record?: (tx: Tx) => Promise<void>
}

/** Computes the value of a series by the current method. */
export const computeSeries = (document: InputsDocument) => {
  const compute = methods[currentMethod]
  if (!compute) throw new Error(`the method ${currentMethod} is missing`)
  if (document.rows.length > rowsMax)
    throw new Error(
      `${document.rows.length} rows, more than ${rowsMax}, in series ${document.code} of ${document.epoch}`,
    )
  return compute(document)
}

/** The inputs of the composite and of every category that has a value now or had one before. */
export const listDocuments = (
  ctx: Ctx,
  month: string,
  { groups, clusterOf }: CollectedWork,
  knownCodes: readonly string[],
): InputsDocument[] => {
  const key = ctx.secrets.derive('index')
  const makeDocument = (code: string, ofSeries: typeof groups) =>
    documentOf({ code, epoch: month, key }, ofSeries, clusterOf)
  const byCategory = Map.groupBy(groups, ({ category }) => category)
  const codes = new Set([
    ...knownCodes,
    ...[...byCategory.keys()].flatMap((name) => (name === null ? [] : codeOf(name))),
  ])
  codes.delete(compositeCode)
  const categories = [...codes]
    .toSorted()
    .map((code) => makeDocument(code, byCategory.get(code.slice(compositeCode.length + 1)) ?? []))
    // A series begins with its first value: the hours of a single buyer are nobody else's business.
    .filter((document) => knownCodes.includes(document.code) || computeSeries(document).status === 'final')
  return [makeDocument(compositeCode, groups), ...categories]
}

type SignedEpoch = { readonly epoch: NewEpoch; readonly document: InputsDocument }
type Publication = {
  readonly publishedAt: Date
  readonly restates: Restatement | null
  readonly excluded: CollectedWork['excluded']
}

const signEpoch = async (
  { ctx, signer }: IndexDeps,
  document: InputsDocument,
  { publishedAt, restates, excluded }: Publication,
): Promise<SignedEpoch> => {
  const { code, epoch: month, method } = document
  const { status, usdCents, inputs, tooFew } = computeSeries(document)
  const carried =
    status === 'final'
      ? null
      : await inTransaction(ctx, 'system', (tx) =>
          findLastFinal(tx, code, { before: month, since: earliestCarriedMonth(month) }),
        )
  const { units, ...counts } = inputs
  const details: EpochDetails = {
    revision: (restates?.revision ?? 0) + 1,
    units,
    inputsRoot: await inputsRootOf(document),
    tooFew,
    carried: carried ?? null,
    restates,
    // Excluded work belongs to no cluster, so it is counted for all series together.
    excluded: code === compositeCode ? excluded : {},
    ...(ctx.config.DEMO_DATA === 'true' ? { demo: true } : {}),
  }
  const valueUsdCents = usdCents === null ? null : BigInt(usdCents)
  const epoch = { code, epoch: month, valueUsdCents, status, method, inputs: counts, publishedAt, details }
  const jws = await signer.signTyped('vhh-epoch+jwt', {
    iss: ctx.config.BASE_URL,
    iat: Math.floor(publishedAt.getTime() / 1_000),
    ...presentEpoch(epoch),
  })
  return { epoch: { ...epoch, jws }, document }
}

/** Stores the epochs of a month together; false where another process stored that revision first. */
const storeMonth = async (tx: Tx, signed: readonly SignedEpoch[]): Promise<boolean> => {
  for (const { epoch, document } of signed) {
    if (!(await insertEpoch(tx, epoch))) {
      if (epoch.code === compositeCode) return false
      throw new Error(`series ${epoch.code} of ${epoch.epoch} is stored while its composite was not`)
    }
    await insertInputs(tx, epoch.details?.revision ?? 1, document)
  }
  return true
}

/** How many agents one statement reads and publishes to. */
const subscriberPage = 1_000
/**
 * Publishes the event to every agent that subscribed to it, for the composite alone: the values of categories are licensed.
 */
const publishEpoch = async (
  tx: Tx,
  { ctx, listSubscribers }: IndexDeps,
  { code, epoch, valueUsdCents }: NewEpoch,
): Promise<void> => {
  const type = 'index.epoch_published' as const
  const url = `${ctx.config.BASE_URL}/api/index/vhh/inputs?epoch=${epoch}`
  const data = { code, epoch, value: usdOf(valueUsdCents), url }
  let after: string | undefined = ''
  do {
    const page = await listSubscribers(tx, type, { after, limit: subscriberPage })
    await publishAll(
      tx,
      page.map((agent) => ({ ...agent, type, subject: `${code} ${epoch}`, data })),
    )
    after = page.length === subscriberPage ? page.at(-1)?.agentId : undefined
  } while (after !== undefined)
}

/**
 * Computes, signs and stores a month. Signing happens outside of transactions: several processes may sign the same month,
 * the rows of one are stored, and the other signatures are dropped.
 */
export const closeMonth = async (
  deps: IndexDeps,
  month: string,
  { restates, record }: CloseOptions,
): Promise<boolean> => {
  const { ctx } = deps
  const work = await collectWork(deps, monthSpan(month))
  const { knownCodes, publishedAt } = await inTransaction(ctx, 'system', async (tx) => ({
    knownCodes: await listCodes(tx),
    publishedAt: await readNow(tx),
  }))
  const publication = { publishedAt, restates, excluded: work.excluded }
  const signed: SignedEpoch[] = []
  for (const document of listDocuments(ctx, month, work, knownCodes))
    signed.push(await signEpoch(deps, document, publication))
  return inTransaction(ctx, 'system', async (tx) => {
    if (!(await storeMonth(tx, signed))) return false
    for (const { epoch } of signed) if (epoch.code === compositeCode) await publishEpoch(tx, deps, epoch)
    await record?.(tx)
    return true
  })
}

const readDueMonths = (ctx: Ctx): Promise<string[]> =>
  inTransaction(ctx, 'system', async (tx) =>
    dueMonths((await findLatestEpoch(tx, compositeCode))?.epoch, await readNow(tx)),
  )

/** Publishes every month that is due, and returns how many this call stored. */
export const ensureEpochs = async (deps: IndexDeps): Promise<number> => {
  let stored = 0
  for (const month of await readDueMonths(deps.ctx))
    if (await closeMonth(deps, month, { restates: null })) stored += 1
  return stored
}

/** Publishes the first month where there is none yet. Later ones are closed by the worker, not by readers. */
export const ensureFirstEpoch = async (deps: IndexDeps): Promise<void> => {
  const latest = await inTransaction(deps.ctx, 'system', (tx) => findLatestEpoch(tx, compositeCode))
  if (!latest) await ensureEpochs(deps)
}

/** The latest epoch; the first start guarantees that there is one. */
export const readComposite = async (tx: Tx): Promise<Epoch> => {
  const latest = await findLatestEpoch(tx, compositeCode)
  if (!latest) throw new Error(`no epoch of index ${compositeCode} found while reading the composite`)
  return latest
}
