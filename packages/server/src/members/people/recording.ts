import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findSessions, readChunks } from '../../sessions/index.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { sessionOwnersOf } from '../membership/session-owners.ts'
import { listMemberships } from '../membership/store.ts'

type Input = {
  readonly sessionId: string
  readonly from?: number | undefined
  readonly limit?: number | undefined
}

/** A recording of the signed-in person, decrypted in their browser. Another person's is not found. */
export const recording = async (
  { ctx, platformAgentOf }: MembersDeps,
  { personId }: Person,
  { sessionId, ...slice }: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const owners = (await listMemberships(tx, personId)).flatMap((member) =>
      sessionOwnersOf(platformAgentOf, member),
    )
    const keys = owners.map(({ agentId, mode }) => ({ agentId, mode, sessionId }))
    const found = await findSessions(tx, keys)
    const index = owners.findIndex(({ memberId }, at) => found[at]?.memberRef === memberId)
    const key = keys[index]
    if (!key) throw new Refusal('not_found', { message: 'You have no such recording.' })
    return readChunks(tx, ctx, key, slice)
  })
