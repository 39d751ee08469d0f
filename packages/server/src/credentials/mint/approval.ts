import type { CredentialClaims, Mode } from '@pohf/protocol'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { Refusal } from '../../platform/http/errors.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import type { Session } from '../../sessions/index.ts'
import { insufficientCredits } from '../refusals.ts'
import { insertMintedCredential, actName, type ActKey, type MintRow } from '../store.ts'
import { sessionAssuranceInputs } from './assurance-inputs.ts'
import { draftSessionCredential } from './draft-session.ts'
import { refusalOf, signDraft, type CredentialsDeps } from './mint.ts'

type ApprovalClaim = NonNullable<CredentialClaims['approval']>
type ApproverClaim = NonNullable<CredentialClaims['approver']>

/** A decision of an approver about an approval of this agent, with its recording. */
export type AttendedDecision = {
  readonly agentId: AgentId
  readonly mode: Mode
  /** Of the act: one credential for each approval and approver. */
  readonly reference: string
  /** Verified, with the member as its reference. */
  readonly session: Session
  /** The membership of the approver; undefined for a simulated one. */
  readonly memberId: string | undefined
  readonly approval: ApprovalClaim
  readonly approver: ApproverClaim
}

/** A signed credential that is not stored yet. */
export type SignedApprovalCredential = { readonly key: ActKey; readonly row: MintRow }
export type ApprovalMintResult = { readonly credentialId: string } | { readonly refusal: Refusal }

/** Mints the credential of a decision for the agent that asked, for one credit. */
export type ApprovalMint = {
  /** Signs and writes nothing. Nobody receives the credential before `write`. */
  readonly sign: (decision: AttendedDecision) => Promise<SignedApprovalCredential | { refusal: Refusal }>
  /** Writes and charges the credential, in the transaction of the decision. */
  readonly write: (tx: Tx, signed: SignedApprovalCredential) => Promise<ApprovalMintResult>
}

const signApproval = async (deps: CredentialsDeps, decision: AttendedDecision) => {
  const { agentId, mode, reference, session, memberId, approval, approver } = decision
  const key: ActKey = { agentId, mode, act: 'approval', reference }
  const loaded = await inTransaction(deps.ctx, 'system', async (tx) => {
    // Also grants the free plan of the month. `credentials_mint` decides again, under the lock of the account.
    const isPayable = await deps.credits.hasAllowance(tx, { agentId, mode })
    const act = {
      agent: { agentId, mode },
      session,
      ...(memberId === undefined ? {} : { worker: { agentId, mode, memberId } }),
    }
    const [assuranceInputs] = await sessionAssuranceInputs(tx, [act])
    if (!assuranceInputs) throw new Error(`approval mint found no assurance inputs for ${actName(key)}`)
    const at = await readNow(tx)
    const { roots } = assuranceInputs
    const [root] = await deps.roots.listCharges(tx, [{ agentId, mode, session, roots }], at)
    return { isPayable, assuranceInputs, at, root: root ?? null }
  })
  if (!loaded.isPayable) return { refusal: insufficientCredits(deps.ctx) }
  const { assuranceInputs, at, root } = loaded
  const draft = draftSessionCredential(deps, { agent: { agentId, mode }, session, assuranceInputs, at })
  const { row } = await signDraft(deps, {
    ...draft,
    key,
    claims: { ...draft.claims, approval, approver },
    root,
    sessionId: session.sessionId,
    charged: true,
    replaces: undefined,
  })
  return { key, row }
}

const writeApproval = async (
  tx: Tx,
  deps: CredentialsDeps,
  { key, row }: SignedApprovalCredential,
): Promise<ApprovalMintResult> => {
  const outcome = await insertMintedCredential(tx, row)
  if (outcome === 'granted') return { credentialId: row.credentialId }
  // The caller holds the approval and has seen that this approver has not decided.
  if (outcome === 'lost') throw new Error(`${actName(key)} has a credential although it was not decided`)
  return { refusal: refusalOf(deps.ctx, { outcome, at: row.at }) }
}

export const makeApprovalMint = (deps: CredentialsDeps): ApprovalMint => ({
  sign: (decision) => signApproval(deps, decision),
  write: (tx, signed) => writeApproval(tx, deps, signed),
})
