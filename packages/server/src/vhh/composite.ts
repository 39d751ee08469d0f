import type { Epoch } from '@pohf/protocol'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { ensureFirstEpoch, readComposite } from './epochs.ts'
import { compositeCode } from './rules.ts'
import { readMonthToDate } from './running.ts'
import type { IndexDeps } from './sources/sources.ts'
import { listEpochs, listLatestEpochs } from './store.ts'

type QueryFlag = '0' | '1' | undefined
export type CompositeParts = {
  readonly history?: QueryFlag
  readonly monthToDate?: QueryFlag
  readonly categories?: QueryFlag
}

/** The free tier: the latest final epoch. */
export const composite = async (deps: IndexDeps) => {
  await ensureFirstEpoch(deps)
  return inTransaction(deps.ctx, 'system', readComposite)
}

/** Whether this caller gets the licensed tier. A key without the scope is refused only where it requests licensed parts. */
export const mayReadLicensed = (agent: Agent | undefined, parts: CompositeParts): boolean => {
  if (agent?.scopes.includes('index')) return true
  if (Object.values(parts).includes('1'))
    throw new Refusal('forbidden', { message: 'This key lacks the scope "index".' })
  return false
}

/** The licensed tier: also the running month and the categories, each unless set to 0, and history if set to 1. */
export const compositeLicensed = async (deps: IndexDeps, parts: CompositeParts) => {
  await ensureFirstEpoch(deps)
  return inTransaction(deps.ctx, 'system', async (tx) => ({
    ...(await readComposite(tx)),
    ...(parts.monthToDate === '0' ? {} : { monthToDate: await readMonthToDate(tx, compositeCode) }),
    ...(parts.categories === '0'
      ? {}
      : {
          categories: (await listLatestEpochs(tx))
            .filter(({ code }) => code !== compositeCode)
            .map((latest) => ({ code: latest.code, latest })),
        }),
    ...(parts.history === '1' ? { history: await listEpochs(tx, compositeCode) } : {}),
  }))
}

/** The months that the page of the index shows. */
const pageMonths = 36
/** The newest months of the composite, oldest first. */
export const readRecentMonths = (ctx: Ctx): Promise<Epoch[]> =>
  inTransaction(ctx, 'system', (tx) => listEpochs(tx, compositeCode, pageMonths))
