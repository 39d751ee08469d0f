import type { Mode } from '@pohf/protocol'
import type { Secrets } from '../../platform/ops/secrets.ts'
import type { Tx } from '../../platform/db/db.ts'
import { nullifierOf } from '../rules.ts'
import { findMember } from './store.ts'

type MemberReference = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }

/**
 * The code of the human behind a member, for one scope: the same at every agent, so that one human counts once
 * there, and not linkable to any agent's member id.
 */
export const humanCode = async (
  tx: Tx,
  secrets: Secrets,
  scope: string,
  who: MemberReference,
): Promise<Buffer> => {
  const known = await findMember(tx, who)
  if (known?.personId === null)
    throw new Error(
      `member ${who.memberId} of agent ${who.agentId} has no person to derive a ${scope} code from`,
    )
  const human = known ? ['person', known.personId] : ['simulated', who.agentId, who.memberId]
  return nullifierOf(secrets.derive('human-code'), [scope, who.mode, ...human])
}
