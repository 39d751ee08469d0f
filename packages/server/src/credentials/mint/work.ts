import type { Mode } from '@pohf/protocol'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Session } from '../../sessions/index.ts'
import { refusalOf, signDrafts, type CredentialsDeps } from './mint.ts'
import { sessionAssuranceInputs } from './assurance-inputs.ts'
import { findMintedCredential, insertMintedCredentials, type ActKey } from '../store.ts'
import { draftSessionCredential } from '../verify.ts'

/** A completed unit of work: the buyer's recorded session and the member who did it. */
type CompletedWork = {
  readonly agentId: string
  readonly mode: Mode
  /** Verified, with the buyer's pairwise name of the person as member reference. */
  readonly session: Session
  /** The membership of the worker; it may be at another agent. */
  readonly member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string }
}
export type WorkMint = <R>(
  work: CompletedWork,
  within: (tx: Tx, credentialId: string) => Promise<R>,
) => Promise<R>

/**
 * Mints the credential of a unit of work for its buyer, who pays per unit and spends no credit, in one transaction
 * with `within`. The act is the session's: a buyer who verifies the session gets this credential again.
 */
export const makeWorkMint =
  (deps: CredentialsDeps): WorkMint =>
  async ({ agentId, mode, session, member }, within) => {
    const key: ActKey = { agentId, mode, act: 'session', reference: session.sessionId }
    const { assuranceInputs, at, stored } = await inTransaction(deps.ctx, 'system', async (tx) => {
      const [found] = await sessionAssuranceInputs(tx, [
        { agent: member, session: { ...session, memberRef: member.memberId } },
      ])
      if (!found) throw new Error('assurance inputs of the session not found')
      return { assuranceInputs: found, at: await readNow(tx), stored: await findMintedCredential(tx, key) }
    })
    const [signed] = stored
      ? []
      : await signDrafts(deps, [
          {
            key,
            ...draftSessionCredential(deps, {
              agent: { agentId, mode },
              session,
              assuranceInputs,
              at,
            }),
            sessionId: session.sessionId,
            charged: false,
            replaces: undefined,
          },
        ])
    return inTransaction(deps.ctx, 'system', async (tx) => {
      if (signed) {
        const [outcome = 'lost'] = await insertMintedCredentials(tx, [signed.row])
        if (outcome === 'granted') return within(tx, signed.row.credentialId)
        if (outcome !== 'lost') throw refusalOf(deps.ctx, outcome)
      }
      const first = await findMintedCredential(tx, key)
      if (!first) throw new Error('credential of a claimed act not found')
      if (first.state === 'revoked') throw new Refusal('credential_revoked')
      return within(tx, first.credentialId)
    })
  }
