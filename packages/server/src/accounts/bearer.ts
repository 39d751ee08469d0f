import type { ConsoleRights } from '../platform/http/call.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { readSignedToken, signToken } from '../platform/ops/tokens.ts'
import { findSessionForAgent } from './sign-in/store.ts'
import { bearerFields, readBearerFields, type BearerClaims } from './rules.ts'

type Bearer = ConsoleRights & {
  readonly agentId: string
  readonly validMs: number
}

/** Makes and reads the bearer tokens of the console. */
export const makeBearers = ({ secrets, ids }: Pick<Ctx, 'secrets' | 'ids'>) => {
  const signerOf = () => ({ keys: secrets.accepted('console-bearer'), cell: ids.cell })
  return {
    sign: (claims: BearerClaims): string => signToken(signerOf(), 'cns_', bearerFields(claims)),
    read: (text: string): BearerClaims | undefined =>
      readBearerFields(readSignedToken(signerOf(), 'cns_', text)),
    /** The person and agent of a token. Session, role and agent are read anew, so that each can be revoked. */
    find: async (tx: Tx, { sessionId, agentId, expiresAt }: BearerClaims): Promise<Bearer | undefined> => {
      const session = await findSessionForAgent(tx, sessionId, agentId)
      const validMs = session ? expiresAt.getTime() - session.at.getTime() : 0
      if (!session || validMs <= 0) return undefined
      return {
        agentId,
        personId: session.person_id,
        role: session.role,
        isRecent: session.is_recent,
        signedInBy: session.signed_in_by,
        validMs,
      }
    },
  }
}
export type Bearers = ReturnType<typeof makeBearers>
