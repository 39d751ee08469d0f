import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import type { Signer } from '../signing/index.ts'
import { ensureEpochs, readComposite } from './epochs.ts'
import { assess, hoursAvailable, leadMonths, premiumPct, totalUsdCents, usdOf } from './rules.ts'
import { insertForwardOrder } from './store.ts'

type ForwardOrder = {
  readonly name: string
  readonly company: string
  readonly email: string
  readonly hours: number
  readonly month: string
  readonly category?: string | undefined
  readonly notes?: string | undefined
}

const priceNoteOf = (epoch: string, hasValue: boolean): string =>
  hasValue
    ? `Indicative, from the index of ${epoch}; the agreement names the price.`
    : `The index has no value for ${epoch}, so there is no price yet; the agreement names it.`

const nextStepNote =
  'A person reads this order and writes to the address given. A countersigned service agreement and an invoice follow; until then nothing is reserved and nothing is owed.'

/** Stores a forward order, with an assessment against the capacity and an indicative price by the index. */
export const forwardsOrder = async (ctx: Ctx, signer: Signer, input: ForwardOrder) => {
  await ensureEpochs(ctx, signer)
  return inTransaction(ctx, 'system', async (tx) => {
    const latest = await readComposite(tx)
    const lead = leadMonths(await readNow(tx), input.month)
    const available = hoursAvailable(ctx.config.FORWARD_CAPACITY_HOURS_PER_MONTH, lead)
    const assessment = assess(input.hours, available)
    const premium = premiumPct({ hours: input.hours, available, lead })
    const vhhUsdCents = latest.value === null ? null : BigInt(Math.round(latest.value * 100))
    const totalCents = totalUsdCents(vhhUsdCents, input.hours, premium)
    const orderId = tx.ids.make('fwd_')
    await insertForwardOrder(tx, {
      ...input,
      orderId,
      category: input.category ?? null,
      notes: input.notes ?? null,
      hoursAvailable: available,
      assessment,
      premiumPct: premium,
      epoch: latest.epoch,
      totalUsdCents: totalCents,
    })
    return {
      ok: true as const,
      orderId,
      status: 'received' as const,
      capacity: { hoursRequested: input.hours, hoursAvailable: available, assessment },
      indicative: {
        vhhUsd: latest.value,
        premiumPct: premium,
        totalUsd: usdOf(totalCents),
        epoch: latest.epoch,
        note: priceNoteOf(latest.epoch, latest.value !== null),
      },
      terms: { transferable: false as const, resellable: false as const, cashSettled: false as const },
      next: nextStepNote,
    }
  })
}
