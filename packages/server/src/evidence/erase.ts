import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { deleteMemberTraces, deleteSketches } from './store.ts'

type Erased = {
  readonly agentId: string
  readonly mode: Mode
  readonly memberId: string
  readonly sessionIds: readonly string[]
}

/** Erasure: shapes of strokes, last place, devices and open nonces of one member. */
export const forgetEvidence = async (tx: Tx, erased: Erased): Promise<void> => {
  for (const sessionId of erased.sessionIds) await deleteSketches(tx, { agentId: erased.agentId, sessionId })
  await deleteMemberTraces(tx, erased, [erased.memberId, ...erased.sessionIds])
}
