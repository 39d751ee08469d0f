import type { Epoch } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { ensureFirstEpoch, readComposite } from './epochs.ts'
import { perAddressMax, perDayMax } from './forwards/rules.ts'
import { countRecent, findPromisedHours, insertForwardOrder } from './forwards/store.ts'
import {
  assess,
  capacityMonths,
  compositeCode,
  hoursAvailable,
  leadMonths,
  measuredCapacity,
  premiumPct,
  totalUsdCents,
  usdOf,
} from './rules.ts'
import type { IndexDeps } from './sources/sources.ts'
import { listRecentHours } from './store.ts'

type ForwardOrder = {
  readonly name: string
  readonly company: string
  readonly email: string
  readonly hours: number
  readonly month: string
  readonly category?: string | undefined
  readonly notes?: string | undefined
}

/** The value that a price refers to: of the latest epoch, or the one that it carries. */
const priceOf = (latest: Epoch): { readonly value: number | null; readonly note: string } => {
  if (latest.value !== null)
    return {
      value: latest.value,
      note: `Indicative, from the index of ${latest.epoch}; the agreement names the price.`,
    }
  if (latest.carried)
    return {
      value: latest.carried.value,
      note: `The index has too little data for ${latest.epoch}. The price is indicative, from its last value, of ${latest.carried.epoch}; the agreement names the price.`,
    }
  return {
    value: null,
    note: `The index has no value for ${latest.epoch}, so there is no price yet; the agreement names it.`,
  }
}

/**
 * Refuses requests beyond the daily limits of a mail address and of all senders. The limit of a network is checked before
 * the request is read.
 */
const requireFewRequests = async (tx: Tx, email: string): Promise<void> => {
  const { ofAddress, inTotal } = await countRecent(tx, email, {
    perAddress: perAddressMax,
    inTotal: perDayMax,
  })
  if (ofAddress >= perAddressMax || inTotal >= perDayMax)
    throw new Refusal('rate_limited', {
      message:
        ofAddress >= perAddressMax
          ? `This address sent ${perAddressMax} requests within 24 hours.`
          : 'Too many requests for capacity came within 24 hours.',
      headers: { 'retry-after': '3600' },
    })
}

/** The hours of a month: the setting of the operator, or what was settled in an average month. */
const readCapacity = async (tx: Tx, ctx: Ctx): Promise<number> => {
  const { FORWARD_CAPACITY_HOURS_PER_MONTH: set } = ctx.config
  return set > 0 ? set : measuredCapacity(await listRecentHours(tx, compositeCode, capacityMonths))
}

const nextStepNote =
  'A person reads this order and writes to the address given. A countersigned service agreement and an invoice follow; until then nothing is reserved and nothing is owed.'

/** Stores a forward order, with an assessment against the capacity and an indicative price by the index. */
export const forwardsOrder = async (deps: IndexDeps, input: ForwardOrder) => {
  const { ctx } = deps
  await ensureFirstEpoch(deps)
  return inTransaction(ctx, 'system', async (tx) => {
    await requireFewRequests(tx, input.email)
    const latest = await readComposite(tx)
    const lead = leadMonths(await readNow(tx), input.month)
    const promised = await findPromisedHours(tx, input.month)
    const available = hoursAvailable(await readCapacity(tx, ctx), promised, lead)
    const assessment = assess(input.hours, available)
    const premium = premiumPct({ hours: input.hours, available, lead })
    const { value, note } = priceOf(latest)
    const vhhUsdCents = value === null ? null : BigInt(Math.round(value * 100))
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
        vhhUsd: value,
        premiumPct: premium,
        totalUsd: usdOf(totalCents),
        epoch: latest.epoch,
        note,
      },
      terms: { transferable: false as const, resellable: false as const, cashSettled: false as const },
      next: nextStepNote,
    }
  })
}
