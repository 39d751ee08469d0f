import type { Mode } from '@pohf/protocol'
import { readSignedToken, signToken, type SigningCtx } from '../platform/ops/tokens.ts'

/** The content of a task token. */
export type TaskGrant = {
  readonly agentId: `agt_${string}`
  readonly mode: Mode
  readonly taskId: string
  readonly nonce: string
  readonly expiresAt: Date
}

/** How long a token is valid. */
export const tokenMinutes = 10

const signerOf = ({ secrets, ids }: SigningCtx) => ({ key: secrets.derive('task-token'), cell: ids.cell })

/** Issuing a token stores nothing. */
export const makeTaskToken = (ctx: SigningCtx, grant: TaskGrant): string =>
  signToken(signerOf(ctx), 'tkt_', [
    grant.agentId,
    grant.mode,
    grant.taskId,
    grant.nonce,
    grant.expiresAt.getTime(),
  ])

/** The content of an authentic token, expired or not; undefined for anything else. */
export const readTaskToken = (ctx: SigningCtx, token: string): TaskGrant | undefined => {
  const fields = readSignedToken(signerOf(ctx), 'tkt_', token)
  if (!fields) return undefined
  type Fields = [TaskGrant['agentId'], Mode, string, string, number]
  const [agentId, mode, taskId, nonce, expiresAt] = fields as Fields
  return { agentId, mode, taskId, nonce, expiresAt: new Date(expiresAt) }
}
