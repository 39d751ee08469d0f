import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { deleteSketches } from './scoring/store.ts'
import { deleteMemberTraces } from './store.ts'

type ErasedMember = {
  readonly agentId: string
  readonly mode: Mode
  readonly memberId: string
  readonly sessionIds: readonly string[]
}

/** Erasure: deletes stroke sketches, last location, devices and open nonces of one member. */
export const eraseEvidence = async (tx: Tx, erased: ErasedMember): Promise<void> => {
  await deleteSketches(tx, erased.agentId, erased.sessionIds)
  await deleteMemberTraces(tx, erased, [erased.memberId, ...erased.sessionIds])
}
