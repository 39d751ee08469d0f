import type { Assurance } from '@pohf/protocol'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { findApproverNames, findDefinition, presentEnvelope } from '../present.ts'
import { decisionReferenceOf, noSuchApproval, statusAt } from '../rules.ts'
import { listTurns } from '../store.ts'
import { findOwnApproval, type OwnApproval } from './facts.ts'
import { findAgentNames } from './list.ts'
import { isTooFastInRow, valueHashesOf } from './rules.ts'
import { findRetryAt, listKnownValues, listLatestTimes } from './store.ts'

/** The approvers, with what each decided. */
const presentApprovers = async (tx: Tx, { key, approval }: OwnApproval) => {
  const turns = await listTurns(tx, key)
  const names = await findApproverNames(tx, approval)
  return turns.map(({ approver_id: approver, decision }) => ({
    approver,
    name: names.get(approver) ?? '',
    decision,
  }))
}

/** The pointers of critical fields with a value that this person has not approved before. */
const findNewValues = async (tx: Tx, { ctx }: ApprovalsDeps, { key, turn, view }: OwnApproval) => {
  const approver = { agentId: key.agentId, mode: key.mode, approverId: turn.approver_id }
  const values = valueHashesOf(ctx.secrets.derive('approver-value'), approver, view)
  const known = await listKnownValues(
    tx,
    approver,
    values.map(({ hash }) => hash),
  )
  return values.filter(({ hash }) => !known.has(hash.toString('base64url'))).map(({ path }) => path)
}

/** What the credential of a decision says of its assurance. */
const assuranceOf = (jwt: string): Assurance =>
  (JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as { assurance: Assurance })
    .assurance

const presentOwn = async (tx: Tx, deps: ApprovalsDeps, { key, turn }: OwnApproval) => {
  if (turn.decided_at === null) return null
  const reference = decisionReferenceOf(key.approvalId, turn.approver_id)
  const tokens =
    turn.credential_id === null
      ? new Map<string, string>()
      : await deps.findDecisionTokens(tx, key, [reference])
  const jwt = tokens.get(reference)
  return {
    words: turn.words,
    decidedAt: turn.decided_at.toISOString(),
    credentialId: turn.credential_id,
    assurance: jwt === undefined ? null : assuranceOf(jwt),
    inViewSeconds: turn.in_view_seconds,
  }
}

/** The company with which the person has to sign in, as the page needs it. */
const presentCompany = async (tx: Tx, { issuers }: ApprovalsDeps, { company, key, turn }: OwnApproval) => {
  if (!company) return null
  const { issuer, state, until } = company
  const known = await issuers.find(tx, issuer, key.agentId)
  return {
    issuer,
    issuerId: known?.issuerId ?? issuer,
    memberId: turn.member_id,
    state,
    until: until?.toISOString() ?? null,
    lifeHours: (known?.lifeDays ?? 1) * 24,
  }
}

/** One approval for the person who may decide it. A known-bad request has the same fields by the same reads. */
export const read = async (deps: ApprovalsDeps, { personId }: Person, approvalId: string) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const own = await findOwnApproval(tx, personId, approvalId)
    if (!own) throw noSuchApproval()
    const { key, turn, approval, view, now } = own
    const approver = { agentId: key.agentId, mode: key.mode, approverId: turn.approver_id }
    const names = await findAgentNames(tx, deps, [key.agentId])
    return {
      approvalId,
      mode: key.mode,
      status: statusAt(approval, now),
      agentName: names.get(key.agentId) ?? key.agentId,
      title: view.title,
      type: approval.type,
      createdAt: approval.createdAt.toISOString(),
      decideBy: approval.decideBy.toISOString(),
      ownDecision: turn.decision,
      envelope: presentEnvelope(approval),
      envelopeHash: approval.envelopeHash,
      definition: await findDefinition(tx, approval),
      approver: turn.approver_id,
      approvers: await presentApprovers(tx, own),
      site: key.agentId,
      challenge: turn.challenge,
      newValues: await findNewValues(tx, deps, own),
      slowDown: isTooFastInRow(await listLatestTimes(tx, approver)),
      retryAt: (await findRetryAt(tx, approver))?.toISOString() ?? null,
      own: await presentOwn(tx, deps, own),
      consumableAt: approval.consumableAt?.toISOString() ?? null,
      company: await presentCompany(tx, deps, own),
    }
  })
