import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Mode } from '@pohf/protocol'

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

const macOf = (key: Buffer, payload: string): Buffer =>
  createHmac('sha256', key).update(payload).digest().subarray(0, 16)

/** Fields and 128 bits of HMAC. Issuing a token stores nothing. */
export const makeTaskToken = (key: Buffer, grant: TaskGrant): string => {
  const fields = [grant.agentId, grant.mode, grant.taskId, grant.nonce, grant.expiresAt.getTime()]
  const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `tkt_${payload}.${macOf(key, payload).toString('base64url')}`
}

/** The content of an authentic token, expired or not; undefined for anything else. */
export const readTaskToken = (key: Buffer, token: string): TaskGrant | undefined => {
  const [, payload, mac] = /^tkt_([A-Za-z0-9_-]{1,600})\.([A-Za-z0-9_-]{22})$/.exec(token) ?? []
  if (payload === undefined || mac === undefined) return undefined
  const presentedMac = Buffer.from(mac, 'base64url')
  if (presentedMac.length !== 16 || !timingSafeEqual(presentedMac, macOf(key, payload))) return undefined
  const [agentId, mode, taskId, nonce, expiresAt] = JSON.parse(
    Buffer.from(payload, 'base64url').toString('utf8'),
  ) as [TaskGrant['agentId'], Mode, string, string, number]
  return { agentId, mode, taskId, nonce, expiresAt: new Date(expiresAt) }
}
