import type { Mode } from '@pohf/protocol'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { payoutFacts, type ShownRoot } from '../../roots/index.ts'
import type { Session } from '../../sessions/index.ts'
import { refusalOf, signDraft, type CredentialsDeps } from './mint.ts'
import { sessionAssuranceInputs } from './assurance-inputs.ts'
import { draftSessionCredential } from './draft-session.ts'
import { actName, findMintedCredential, insertMintedCredential, type ActKey, type MintRow } from '../store.ts'

/** A completed unit of work: the buyer's recorded session and the member who did it. */
type CompletedWork = {
  readonly agentId: string
  readonly mode: Mode
  /** Verified, with the buyer's pairwise name of the person as member reference. */
  readonly session: Session
  /** The membership of the worker; it may be at another agent. */
  readonly member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string }
  readonly personId: string
}

/** A signed credential that is not stored yet; without a row where the act has a credential already. */
export type SignedWorkCredential = { readonly key: ActKey; readonly row: MintRow | undefined }
/** The credential of the act, or why there is none. */
export type WorkMintResult = { readonly credentialId: string } | { readonly refusal: Refusal }

/**
 * Mints the credential of a unit of work for its buyer, who pays per unit and spends no credit. The act is the
 * session's: a buyer who verifies the session gets this credential again.
 */
export type WorkMint = {
  /** Signs and writes nothing. Nobody receives the credential before `write`. */
  readonly sign: (work: CompletedWork) => Promise<SignedWorkCredential>
  /** Writes the credential once, in the transaction of the delivery. */
  readonly write: (tx: Tx, signed: SignedWorkCredential) => Promise<WorkMintResult>
}

/** Every account is of one kind, so there is no model or issuer that could be suspended. */
const payoutRootOf = ({ accountHash, paidAt }: { accountHash: Buffer; paidAt: Date }): ShownRoot => ({
  ...payoutFacts,
  key: accountHash.toString('base64url'),
  name: payoutFacts.kind,
  counted: true,
  fresh: false,
  at: paidAt,
})

const signWork = async (
  deps: CredentialsDeps,
  { agentId, mode, session, member, personId }: CompletedWork,
): Promise<SignedWorkCredential> => {
  const { sessionId } = session
  const key: ActKey = { agentId, mode, act: 'session', reference: sessionId }
  const { assuranceInputs, at, root, stored } = await inTransaction(deps.ctx, 'system', async (tx) => {
    const paid = await deps.findPayoutRoot(tx, personId)
    const payoutAccount = paid && payoutRootOf(paid)
    const act = { agent: { agentId, mode }, session, worker: member, payoutAccount }
    const [found] = await sessionAssuranceInputs(tx, [act])
    if (!found)
      throw new Error(
        `work mint found no assurance inputs for ${actName(key)}, done by member ${member.memberId}`,
      )
    const now = await readNow(tx)
    const { roots } = found
    const [root] = await deps.roots.listCharges(tx, [{ agentId, mode, session, roots }], now)
    const known = await findMintedCredential(tx, key)
    return { assuranceInputs: found, at: now, root: root ?? null, stored: known }
  })
  if (stored) return { key, row: undefined }
  const draft = draftSessionCredential(deps, { agent: { agentId, mode }, session, assuranceInputs, at })
  const { row } = await signDraft(deps, {
    key,
    ...draft,
    root,
    sessionId,
    charged: false,
    replaces: undefined,
  })
  return { key, row }
}

const writeWork = async (
  tx: Tx,
  deps: CredentialsDeps,
  { key, row }: SignedWorkCredential,
): Promise<WorkMintResult> => {
  if (row) {
    const outcome = await insertMintedCredential(tx, row)
    if (outcome === 'granted') return { credentialId: row.credentialId }
    if (outcome !== 'lost') return { refusal: refusalOf(deps.ctx, { outcome, at: row.at }) }
  }
  const first = await findMintedCredential(tx, key)
  if (!first) throw new Error(`work mint found no credential for ${actName(key)}, whose act is claimed`)
  if (first.state === 'revoked') return { refusal: new Refusal('credential_revoked') }
  return { credentialId: first.credentialId }
}

export const makeWorkMint = (deps: CredentialsDeps): WorkMint => ({
  sign: (work) => signWork(deps, work),
  write: (tx, signed) => writeWork(tx, deps, signed),
})
