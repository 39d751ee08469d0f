import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { findSession, readViewToken, type View } from '../sessions/index.ts'
import { isTokenValid, isVerifiedView } from './rules.ts'
import type { AttentionStore } from './engines/port.ts'
import {
  insertConversionClaim,
  insertTrackedViews,
  lockTrackedViews,
  updateTrackedViewConverted,
} from './store.ts'

type Conversion = {
  readonly vt: string
  readonly name: string
  readonly value?: number | undefined
  readonly currency?: string | undefined
  readonly idempotencyKey: string | undefined
}

/** True where the conversion is stored, now or by an earlier call with the same key. */
const attributeConversion = async (
  tx: Tx,
  store: AttentionStore,
  view: View,
  conversion: Conversion,
): Promise<boolean> => {
  if (!isTokenValid(view.viewedAt, await readNow(tx))) return false
  const session = await findSession(tx, view)
  if (!session || !isVerifiedView(session)) return false
  const { name, idempotencyKey } = conversion
  await insertTrackedViews(tx, [{ ...view, session }])
  const [tracked] = await lockTrackedViews(tx, [view])
  if (!tracked) throw new Error(`view ${view.sessionId} not found while attributing a conversion to it`)
  const { viewedAt } = tracked
  if (
    idempotencyKey !== undefined &&
    !(await insertConversionClaim(tx, view, { name, idempotencyKey, viewedAt }))
  )
    return true
  const value = conversion.value ?? null
  const currency = conversion.currency?.toUpperCase() ?? null
  const eventId = await publish(tx, {
    agentId: view.agentId,
    mode: view.mode,
    type: 'conversion.attributed',
    subject: view.sessionId,
    data: { sessionId: view.sessionId, name, value, currency },
  })
  const isFirstOfView = !tracked.converted
  await store.recordConversion(tx, { view: tracked, eventId, isFirstOfView, name, value, currency })
  if (isFirstOfView) await updateTrackedViewConverted(tx, view)
  return true
}

/** Attributes a conversion to a verified view of this agent. The response to a token of another agent is that to an unknown one. */
export const conversion = async (ctx: Ctx, store: AttentionStore, agent: Agent, input: Conversion) => {
  const view = readViewToken(ctx, input.vt)
  if (!view || view.agentId !== agent.agentId || view.mode !== agent.mode) return { attributed: false }
  return {
    attributed: await inTransaction(ctx, agent.agentId, (tx) => attributeConversion(tx, store, view, input)),
  }
}
