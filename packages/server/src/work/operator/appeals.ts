import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { findOrder } from '../orders/store.ts'
import { findHolder } from '../workers/store.ts'
import { listUnitInputs } from '../orders/present.ts'
import { unitReference } from '../units/rules.ts'
import { listAppealed } from '../units/store.ts'

/** Undecided appeals, oldest first. */
export const operatorAppeals = (ctx: Ctx, limit = 50) =>
  inTransaction(ctx, 'system', async (tx) => {
    const appeals = []
    for (const unit of await listAppealed(tx, limit)) {
      const order = await findOrder(tx, unit)
      const holder = await findHolder(tx, unit)
      if (!order || !holder || !unit.appeal || !unit.rejection) {
        const missing = !order ? 'order' : !holder ? 'assignment' : unit.appeal ? 'rejection' : 'appeal'
        throw new Error(
          `unit ${unitReference(unit.orderId, unit.n)} is ${unit.status} and has no ${missing} while listing appeals`,
        )
      }
      const [input] = await listUnitInputs(tx, order, [unit])
      appeals.push({
        assignmentId: holder.assignmentId,
        agentId: unit.agentId,
        mode: unit.mode,
        orderId: unit.orderId,
        n: unit.n,
        title: order.terms?.title ?? order.taskType,
        instructions: order.instructions,
        input: input ?? null,
        answer: unit.answer,
        quality: unit.quality,
        rejection: {
          reason: unit.rejection.reason,
          // No buyer rejected a known-answer item: the known answer says why.
          note:
            order.purpose === 'gold'
              ? `Known: ${JSON.stringify(order.terms?.goldAnswer)}`
              : unit.rejection.note,
        },
        text: unit.appeal.text,
        at: unit.appeal.at.toISOString(),
      })
    }
    return { appeals }
  })
