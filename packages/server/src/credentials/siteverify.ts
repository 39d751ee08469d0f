import { isReservedSession } from '../evidence/index.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { checkRefusals, type Refusals } from '../platform/http/refusals.ts'
import {
  findSession,
  hostnameOf,
  updateSessionRedeemed,
  type FindSite,
  type Session,
} from '../sessions/index.ts'
import type { CredentialsDeps } from './mint/mint.ts'
import type { VerifyRequest, VerifyResponse } from './verify.ts'

export type SiteverifyDeps = Pick<CredentialsDeps, 'ctx'> & {
  /** Injected by the wiring: the origins whose pages may open sessions of an agent. */
  readonly findSite: FindSite
}

type Input = {
  readonly sessionId: string
  readonly site: string | undefined
  readonly idempotencyKey: string | undefined
}
type SiteverifyCall = {
  readonly agent: Agent
  readonly input: Input
  readonly session: Session | undefined
  readonly allowedOrigins: readonly string[]
  readonly at: Date
}

/** How long after its end a session is accepted. */
const acceptedMs = 300_000
/** How long a repeat with the same idempotency_key gets the same answer: as long as an Idempotency-Key is kept. */
const repeatedMs = 24 * 3_600_000

const invalidField = (name: string, code: string, message: string): Refusal =>
  new Refusal('validation_failed', { details: [{ path: `body.${name}`, code, message }] })

const refuseMissingResponse = ({ input }: SiteverifyCall) =>
  input.sessionId === '' ? invalidField('response', 'missing', 'must be the id of a session') : undefined

const refuseOtherSite = ({ agent, input }: SiteverifyCall) =>
  input.site === undefined || input.site === agent.agentId
    ? undefined
    : invalidField('sitekey', 'mismatch', 'is not the id of the agent of this key')

const sessionUsed = (): Refusal =>
  new Refusal('session_rejected', {
    details: [
      {
        path: 'session',
        code: 'session_used',
        message: 'siteverify answered success for this session before',
      },
    ],
  })

/** Whether this call repeats the one that used the session. */
const isRepeat = ({ redeemedAt, redeemedKey }: Session, { idempotencyKey }: Input, at: Date): boolean =>
  redeemedAt !== null &&
  redeemedKey !== null &&
  redeemedKey === idempotencyKey?.toLowerCase() &&
  at.getTime() - redeemedAt.getTime() <= repeatedMs

const refuseUsed = ({ session, input, at }: SiteverifyCall) =>
  session && session.redeemedAt !== null && !isRepeat(session, input, at) ? sessionUsed() : undefined

/** A session of a reserved id stays as it is, so it does not age. */
const refuseOld = ({ session, input, at }: SiteverifyCall) => {
  if (!session?.endedAt || isReservedSession(session.sessionId) || isRepeat(session, input, at))
    return undefined
  if (at.getTime() - session.endedAt.getTime() <= acceptedMs) return undefined
  const message = 'siteverify accepts a session for 300 seconds after its end. Start a new session.'
  return new Refusal('session_expired', { message })
}

/** Refuses a session that was opened on a host outside allowedOrigins. A session without a key was opened by no page. */
const refuseOtherHost = ({ session, allowedOrigins }: SiteverifyCall) => {
  if (!session?.jkt || allowedOrigins.length === 0) return undefined
  if (session.hostname !== null && allowedOrigins.map(hostnameOf).includes(session.hostname)) return undefined
  return invalidField(
    'response',
    'hostname',
    'the session was opened on a host that is not in allowedOrigins',
  )
}

/** The refusals of siteverify before those of verify, in order. */
export const siteverifyRefusals: Refusals<SiteverifyCall> = [
  ['response_missing', refuseMissingResponse],
  ['sitekey_mismatch', refuseOtherSite],
  ['session_used', refuseUsed],
  ['session_too_old', refuseOld],
  ['other_host', refuseOtherHost],
]

const keyOf = ({ agentId, mode }: Agent, { sessionId }: Input) => ({ agentId, mode, sessionId })

const load = async (
  tx: Tx,
  { findSite }: SiteverifyDeps,
  agent: Agent,
  input: Input,
): Promise<SiteverifyCall> => ({
  agent,
  input,
  session: await findSession(tx, keyOf(agent, input)),
  allowedOrigins: (await findSite(tx, agent.agentId))?.allowedOrigins ?? [],
  at: await readNow(tx),
})

/**
 * Marks the session as redeemed with the idempotency_key of the first call; a repeat needs the same key. It runs after the
 * mint: if the process dies in between, the call can be repeated with any key, and verify charges it once.
 */
const redeem = async (tx: Tx, agent: Agent, input: Input): Promise<Session> => {
  const key = keyOf(agent, input)
  const session = await findSession(tx, key)
  if (!session)
    throw new Error(`session ${key.sessionId} of agent ${key.agentId} not found after verify answered for it`)
  if (isReservedSession(key.sessionId)) return session
  if (await updateSessionRedeemed(tx, { ...key, at: session.at }, input.idempotencyKey)) return session
  const used = await findSession(tx, key)
  if (!used || !isRepeat(used, input, await readNow(tx))) throw sessionUsed()
  return used
}

/** Verifies a session by the protocol of siteverify: once, soon after its end, and on a host of the agent. */
export const makeSiteverify =
  (deps: SiteverifyDeps, verify: (request: VerifyRequest) => Promise<VerifyResponse>) =>
  async (agent: Agent, input: Input) => {
    const call = await inTransaction(deps.ctx, agent.agentId, (tx) => load(tx, deps, agent, input))
    checkRefusals(siteverifyRefusals, call)
    const { body } = await verify({ agent, input: { sessionId: input.sessionId } })
    const session = await inTransaction(deps.ctx, agent.agentId, (tx) => redeem(tx, agent, input))
    return {
      success: true,
      'error-codes': [],
      challenge_ts: (session.endedAt ?? session.at).toISOString(),
      ...(session.hostname === null ? {} : { hostname: session.hostname }),
      score: body.quality,
      ...(session.challenge === null ? {} : { action: session.challenge }),
      sessionId: session.sessionId,
      kind: body.kind,
      assurance: body.assurance,
      credential: body.pohf_jwt,
      credentialId: body.credentialId,
    }
  }
