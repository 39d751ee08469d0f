import type { Approval as PresentedApproval } from '@pohf/protocol'
import { readNow, type Tx } from '../platform/db/db.ts'
import { actionTypeOf, findTypeVersion, listApproversById } from './administration/store.ts'
import type { ApprovalsDeps } from './deps.ts'
import { decisionReferenceOf, isSimulatedApprover, noSuchApproval, simulatedName, statusAt } from './rules.ts'
import { listTurns, type Approval } from './store.ts'

type Definition = NonNullable<PresentedApproval['definition']>

/** How the action of an approval is shown; null where its type is not registered. */
export const findDefinition = async (tx: Tx, approval: Approval): Promise<Definition | null> => {
  if (approval.typeVersion === 0) return null
  const { type, typeVersion: version } = approval
  const row = await findTypeVersion(tx, approval, { type, version })
  if (!row)
    throw new Error(`version ${version} of action type ${type} of agent ${approval.agentId} not found`)
  const { labels, critical, ...shown } = actionTypeOf(row)
  return { ...shown, labels: { ...labels }, critical: [...critical] }
}

/** The names of the approvers of an approval. One who was erased has none. */
export const findApproverNames = async (tx: Tx, approval: Approval): Promise<ReadonlyMap<string, string>> => {
  const rows = await listApproversById(tx, approval, approval.approvers)
  return new Map(
    approval.approvers.map((approver) => [
      approver,
      isSimulatedApprover(approval.mode, approver)
        ? simulatedName(approver)
        : (rows.find((row) => row.approver_id === approver)?.name ?? ''),
    ]),
  )
}

type PresentedEnvelope = PresentedApproval['envelope']
/** The envelope as the API returns it. An approval whose envelope was erased is no longer readable. */
export const presentEnvelope = ({ envelope }: Pick<Approval, 'envelope'>): PresentedEnvelope => {
  if (!envelope) throw noSuchApproval()
  return { ...envelope, action: { ...envelope.action }, approvers: [...envelope.approvers] }
}

/** An approval as its requester and its audience see it. */
export const presentApproval = async (
  tx: Tx,
  deps: ApprovalsDeps,
  approval: Approval,
): Promise<PresentedApproval> => {
  const { approvalId } = approval
  const turns = (await listTurns(tx, approval)).filter((turn) => turn.decision !== null)
  const names = await findApproverNames(tx, approval)
  const tokens = await deps.findDecisionTokens(
    tx,
    approval,
    turns.map((turn) => decisionReferenceOf(approvalId, turn.approver_id)),
  )
  return {
    approvalId,
    mode: approval.mode,
    status: statusAt(approval, await readNow(tx)),
    envelope: presentEnvelope(approval),
    envelopeHash: approval.envelopeHash,
    definition: await findDefinition(tx, approval),
    decisions: turns.flatMap((turn) =>
      turn.decision === null || turn.decided_at === null
        ? []
        : [
            {
              approver: turn.approver_id,
              name: names.get(turn.approver_id) ?? '',
              decision: turn.decision,
              words: turn.words,
              decidedAt: turn.decided_at.toISOString(),
              credentialId: turn.credential_id,
              // After an approval and a denial by one person, the reference finds the credential of the approval: omit it.
              pohf_jwt:
                turn.credential_id === null
                  ? null
                  : (tokens.get(decisionReferenceOf(approvalId, turn.approver_id)) ?? null),
            },
          ],
    ),
    createdAt: approval.createdAt.toISOString(),
    decidedAt: approval.decidedAt?.toISOString() ?? null,
    consumableAt: approval.consumableAt?.toISOString() ?? null,
    consumedAt: approval.consumedAt?.toISOString() ?? null,
  }
}
