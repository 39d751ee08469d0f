import { approversMax, type ApprovalState } from '@pohf/protocol'
import type { SignedApprovalCredential } from '../../credentials/index.ts'
import {
  recordAssertion,
  requirePerson,
  verifyAssertion,
  type VerifiedAssertion,
} from '../../members/index.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import { checkAndNarrow, checkRefusals, type Refusals } from '../../platform/http/refusals.ts'
import { updateSessionMember } from '../../sessions/index.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { approvalRefused, noSuchApproval } from '../rules.ts'
import { findApprovalForUpdate } from '../store.ts'
import { commitDecision } from './commit.ts'
import { attendedDecisionOf } from './credential.ts'
import {
  decisionRefusals,
  findOwnApproval,
  isDeviceBound,
  loadFacts,
  narrowDecision,
  recordingOwnerOf,
  type CheckedDecision,
  type Decision,
  type DecisionFacts,
} from './facts.ts'
import { nonceHashOf } from './options.ts'
import { consumeChallenge } from './store.ts'

// A decision, from top to bottom: use up its challenge, refuse, verify the passkey, sign the credential, commit.

type Input = {
  readonly approvalId: string
  readonly nonce: string
  readonly credential: unknown
  readonly words?: string | undefined
}

export const decide = async (deps: ApprovalsDeps, { personId }: Person, input: Input) => {
  const { ctx } = deps
  const begun = await inTransaction(ctx, 'system', (tx) => useChallenge(tx, deps, personId, input))
  const checked = checkAndNarrow(decisionRefusals, begun.facts, narrowDecision)
  const assertion = await verifyAssertion(deps, {
    personId,
    credential: input.credential,
    challenge: begun.challenge,
  })
  checkRefusals(signedRefusals, { checked, assertion, words: input.words })
  return signAndCommit(deps, checked, { personId, facts: begun.facts, assertion, words: input.words })
}

// 1. The challenge counts once, whatever becomes of the decision: another attempt needs another challenge.

const useChallenge = async (tx: Tx, deps: ApprovalsDeps, personId: string, input: Input) => {
  const { approvalId, nonce } = input
  const own = await findOwnApproval(tx, personId, approvalId)
  if (!own) throw noSuchApproval()
  const turn = { ...own.key, approverId: own.turn.approver_id }
  const used = await consumeChallenge(tx, turn, nonceHashOf(nonce))
  if (!used)
    throw approvalRefused('body.nonce', 'challenge_unknown', 'the challenge is unknown, used or expired')
  const { challenge, ...begun } = used
  return { challenge, facts: await loadFacts(tx, deps, personId, { approvalId, ...begun }) }
}

// 2. Refuse by the facts that only the verified assertion shows. The other refusals were checked before.

type SignedFacts = {
  readonly checked: CheckedDecision
  readonly assertion: VerifiedAssertion
  readonly words: string | undefined
}
const refuseCopiedPasskey = ({ checked: { input, own }, assertion }: SignedFacts) =>
  input.decision === 'approve' && own.envelope.policy.passkey === 'device_bound' && !isDeviceBound(assertion)
    ? approvalRefused('passkey', 'passkey_not_device_bound', 'this needs a passkey in attested hardware')
    : undefined
/** A login is enough to add a passkey. With a stolen login, a thief could add a passkey and approve pending requests. */
const refuseNewPasskey = ({ checked: { input, own }, assertion }: SignedFacts) =>
  input.decision === 'approve' && assertion.createdAt > own.approval.createdAt
    ? approvalRefused('passkey', 'passkey_too_new', 'this passkey was added after the request')
    : undefined
const refuseWords = ({ checked: { input }, words }: SignedFacts) =>
  input.decision === 'approve' && words !== undefined
    ? approvalRefused('body.words', 'words_with_approval', 'words go with a denial')
    : undefined

const signedRefusals: Refusals<SignedFacts> = [
  ['passkey_used_not_device_bound', refuseCopiedPasskey],
  ['passkey_too_new', refuseNewPasskey],
  ['words_with_approval', refuseWords],
]

// 3. Sign: not for a known-bad request, nor where somebody denies without attention or revokes an approval. A denial is stored
// without a credential where none can be minted, for example without credits.

const signCredential = async (
  { mintApproval }: ApprovalsDeps,
  { input, own, session }: CheckedDecision,
  passkey: VerifiedAssertion,
): Promise<SignedApprovalCredential | undefined> => {
  if (!session || own.approval.knownBad !== null || own.turn.decision !== null) return undefined
  const { member_id: memberId } = own.turn
  const signed = await mintApproval.sign(
    attendedDecisionOf(own, { decision: input.decision, session, memberId, passkey }),
  )
  if (!('refusal' in signed)) return signed
  if (input.decision === 'approve') throw signed.refusal
  return undefined
}

// 4. Commit: with the approval locked, every refusal again, then counter, credential, turn and status together.

/** The id of the credential; null where there is none. A refused mint has written and charged nothing. */
const writeCredential = async (
  tx: Tx,
  { mintApproval }: ApprovalsDeps,
  { input, own, session }: CheckedDecision,
  signed: SignedApprovalCredential | undefined,
): Promise<string | null> => {
  // Since the signature the person may have approved in another window: that decision has the credential.
  if (!signed || !session || own.turn.decision !== null) return null
  const minted = await mintApproval.write(tx, signed)
  if ('credentialId' in minted) return minted.credentialId
  if (input.decision === 'approve') throw minted.refusal
  return null
}

type MadeDecision = {
  readonly personId: string
  readonly facts: DecisionFacts
  readonly assertion: VerifiedAssertion
  readonly words: string | undefined
}
type Committed = {
  readonly committed: {
    readonly status: ApprovalState
    readonly decision: Decision
    readonly credentialId: string | null
  }
}
type Signed = {
  readonly credential: SignedApprovalCredential | undefined
  /** How many had approved before the decision, by the credential. */
  readonly approved: number
}

/** Writes the decision; or nothing, and returns the facts anew, where others have approved since the credential was signed. */
const commit = async (
  tx: Tx,
  deps: ApprovalsDeps,
  made: MadeDecision,
  signed: Signed,
): Promise<Committed | { readonly changed: CheckedDecision }> => {
  const { personId, facts, assertion, words } = made
  const { input } = facts
  // This locks the person: decisions at once cannot pass the limit of an hour together.
  await requirePerson(tx, personId)
  if (facts.own) await findApprovalForUpdate(tx, facts.own.key)
  const current = await loadFacts(tx, deps, personId, input)
  const checked = checkAndNarrow(decisionRefusals, current, narrowDecision)
  const { own, session } = checked
  if (signed.credential && own.approval.approved !== signed.approved) return { changed: checked }
  const { agentId, mode } = own.key
  await recordAssertion(tx, assertion)
  if (session) {
    // Export and erasure of the person find it by its member.
    const owner = recordingOwnerOf(deps, { agentId, mode, isKnownBad: own.approval.knownBad !== null })
    const { sessionId, at } = session
    await updateSessionMember(tx, { agentId: owner, mode, sessionId, at }, own.turn.member_id)
  }
  const credentialId = await writeCredential(tx, deps, checked, signed.credential)
  const { decision } = input
  const status = await commitDecision(tx, deps, own, { decision, words, session, credentialId })
  return { committed: { status, decision, credentialId } }
}

/** The credential says how many had approved with it. Each of the others approves once, so this ends. */
const signAndCommit = async (deps: ApprovalsDeps, first: CheckedDecision, made: MadeDecision) => {
  let checked = first
  for (let attempt = 0; attempt <= approversMax; attempt += 1) {
    const credential = await signCredential(deps, checked, made.assertion)
    const signed = { credential, approved: checked.own.approval.approved }
    const result = await inTransaction(deps.ctx, 'system', (tx) => commit(tx, deps, made, signed))
    if ('committed' in result) return result.committed
    checked = result.changed
  }
  throw new Error(
    `decision about ${first.own.key.approvalId}: more than ${approversMax} others approved meanwhile`,
  )
}
