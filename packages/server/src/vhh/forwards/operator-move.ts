import type { Audit, Operator } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { presentForward } from './present.ts'
import { canMove } from './rules.ts'
import { findForwardForUpdate, updateForward, type ForwardStatus } from './store.ts'

type MoveDeps = { readonly ctx: Ctx; readonly audit: Audit }
type Input = {
  readonly orderId: string
  readonly status: Exclude<ForwardStatus, 'received'>
  readonly quotedUsdCents?: number | undefined
  readonly invoiceRef?: string | undefined
  readonly note?: string | undefined
}

const required = (field: string, message: string): Refusal =>
  new Refusal('validation_failed', { details: [{ path: `body.${field}`, code: 'required', message }] })

/** Moves a request to its next state, with what that state needs, and writes it into the audit log. */
export const operatorMove = ({ ctx, audit }: MoveDeps, operator: Operator, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { orderId, status, quotedUsdCents, invoiceRef, note } = input
    if (status === 'quoted' && quotedUsdCents === undefined)
      throw required('quotedUsdCents', 'a quote names the price for all hours')
    if (status === 'invoiced' && invoiceRef === undefined)
      throw required('invoiceRef', 'the number of the invoice in your bookkeeping is required')
    const known = await findForwardForUpdate(tx, orderId)
    if (!known) throw new Refusal('not_found', { message: 'No such request for capacity.' })
    if (!canMove(known.status, status))
      throw new Refusal('forward_conflict', {
        message: `This request is ${known.status} and cannot become ${status}.`,
      })
    const moved = await updateForward(tx, orderId, {
      status,
      ...(status === 'quoted' && quotedUsdCents !== undefined
        ? { quotedUsdCents: BigInt(quotedUsdCents) }
        : {}),
      ...(status === 'invoiced' ? { invoiceRef } : {}),
      note,
    })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'forward.move',
      target: orderId,
      details: {
        from: known.status,
        to: status,
        ...(quotedUsdCents === undefined ? {} : { quotedUsdCents }),
        ...(invoiceRef === undefined ? {} : { invoiceRef }),
      },
    })
    return presentForward(moved)
  })
