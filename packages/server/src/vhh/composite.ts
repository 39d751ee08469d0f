import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Signer } from '../signing/index.ts'
import { ensureEpochs, readComposite, readMonthToDate } from './epochs.ts'
import { compositeCode } from './rules.ts'
import { listEpochs, listLatestEpochs } from './store.ts'

type QueryFlag = '0' | '1' | undefined
export type CompositeParts = {
  readonly history?: QueryFlag
  readonly monthToDate?: QueryFlag
  readonly categories?: QueryFlag
}

/** The free tier: the latest final epoch. */
export const composite = async (ctx: Ctx, signer: Signer) => {
  await ensureEpochs(ctx, signer)
  return inTransaction(ctx, 'system', readComposite)
}

/** Whether this caller gets the licensed tier. A key without the scope is refused only where it requests licensed parts. */
export const mayReadLicensed = (agent: Agent | undefined, parts: CompositeParts): boolean => {
  if (agent?.scopes.includes('index')) return true
  if (Object.values(parts).includes('1'))
    throw new Refusal('forbidden', { message: 'This key lacks the scope "index".' })
  return false
}

/** The licensed tier: also the running month and the categories, each unless set to 0, and history if set to 1. */
export const compositeLicensed = async (ctx: Ctx, signer: Signer, parts: CompositeParts) => {
  await ensureEpochs(ctx, signer)
  return inTransaction(ctx, 'system', async (tx) => ({
    ...(await readComposite(tx)),
    ...(parts.monthToDate === '0' ? {} : { monthToDate: await readMonthToDate(tx) }),
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
