import type { CredentialPolicy, ForgingFile, Mode, SessionVerdict } from '@pohf/protocol'
import { rejectionOf } from '../evidence/index.ts'
import { isAttentionChallenge } from '../members/index.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeSlots } from '../platform/queue/slots.ts'
import { deviceFacts, reservationMs, type Roots } from '../roots/index.ts'
import type { Session } from '../sessions/index.ts'
import { floorFault, floorOf, type CredentialStrength } from './forging/rules.ts'
import { sessionAssuranceInputs, type SessionAssuranceInputs } from './mint/assurance-inputs.ts'
import { refuseLateMint, stepUpWaysOf } from './refusals.ts'
import { credentialKindOf } from './rules.ts'

type VerdictDeps = {
  readonly ctx: Pick<Ctx, 'config' | 'secrets' | 'ids' | 'db'>
  readonly roots: Pick<Roots, 'reserve'>
  readonly forging: ForgingFile
  /** Injected by the wiring: the floors of an agent. */
  readonly findPolicy: (tx: Tx, agentId: string) => Promise<CredentialPolicy>
  /**
   * Injected by the wiring: whether a session records ordered work or a decision about an approval. It has no floor and is minted
   * at its delivery, or with the decision.
   */
  readonly isMintedElsewhere: (session: Session) => boolean
}
type Owner = { readonly agentId: string; readonly mode: Mode }
/** A verified session that can get its first credential. */
type MintableSession = {
  readonly owner: Owner
  readonly session: Session
  readonly inputs: SessionAssuranceInputs
  readonly at: Date
}

const passed = (until: Date): SessionVerdict => ({
  verdict: 'passed',
  reasons: [],
  validUntil: until.toISOString(),
})

/** The best that a person reaches on the step-up page. */
const steppedUp = (at: Date) => ({
  assurance: 'substantial' as const,
  roots: [
    {
      ...deviceFacts.authenticator,
      counted: false,
      fresh: true,
      at: Math.floor(at.getTime() / 1_000),
    },
  ],
})

/** Asks for a stronger root, or fails where the person has no way to one. */
const askForProof = (
  deps: VerdictDeps,
  { owner, session, at }: MintableSession,
  reason: 'proof_needed' | 'network_busy',
): SessionVerdict => {
  // A link names the owner of the session. Neither a worker nor an approver must learn it: it tells which
  // items have a known answer, and which requests are known to be bad.
  const stepUp = deps.isMintedElsewhere(session) ? [] : stepUpWaysOf(deps.ctx, owner, session, at)
  return stepUp.length === 0
    ? { verdict: 'failed', reasons: [reason] }
    : { verdict: 'step_up', reasons: [reason], stepUp }
}

/** Compares the session with the floor of its agent; undefined where it reaches the floor. */
const belowFloor = async (
  tx: Tx,
  deps: VerdictDeps,
  mintable: MintableSession,
): Promise<SessionVerdict | undefined> => {
  const { owner, session, inputs, at } = mintable
  if (deps.isMintedElsewhere(session)) return undefined
  const kind = credentialKindOf[session.kind]
  const floor = floorOf(await deps.findPolicy(tx, owner.agentId), kind, {})
  const isBelow = (strength: Omit<CredentialStrength, 'kind'>): boolean =>
    floorFault(floor, { kind, ...strength }, { file: deps.forging, at }) !== undefined
  if (!isBelow({ assurance: inputs.assurance, roots: inputs.claim.roots })) return undefined
  return isBelow(steppedUp(at)) || inputs.roots.some(({ kind }) => kind === 'authenticator')
    ? { verdict: 'failed', reasons: ['proof_needed'] }
    : askForProof(deps, mintable, 'proof_needed')
}

/** Holds the places that the credential of this session will spend. */
const reservePlaces = async (
  tx: Tx,
  deps: VerdictDeps,
  mintable: MintableSession,
): Promise<SessionVerdict> => {
  const { owner, session, inputs, at } = mintable
  const { roots } = inputs
  const reservation = await deps.roots.reserve(tx, { ...owner, session, roots }, at)
  if (reservation.type === 'held') return passed(reservation.until)
  if (reservation.type === 'suspended') return askForProof(deps, mintable, 'proof_needed')
  const retryAfter = Math.ceil((reservation.opensAt.getTime() - at.getTime()) / 1_000)
  const told: SessionVerdict = roots.some(({ level }) => level !== 'low')
    ? { verdict: 'failed', reasons: ['network_busy'] }
    : askForProof(deps, mintable, 'network_busy')
  return { ...told, retryAfter }
}

/** The verdict of a verified session that is no attention check. */
const judgeVerified = async (
  tx: Tx,
  deps: VerdictDeps,
  owner: Owner,
  session: Session,
): Promise<SessionVerdict> => {
  const at = await readNow(tx)
  if (session.status === 'sealed') return passed(new Date(at.getTime() + reservationMs))
  if (refuseLateMint({ request: { agent: owner }, session, stored: undefined, at }))
    return { verdict: 'retry', reasons: ['interrupted'] }
  const [inputs] = await sessionAssuranceInputs(tx, [{ agent: owner, session }])
  if (!inputs) throw new Error(`verdict found no assurance inputs for session ${session.sessionId}`)
  const mintable = { owner, session, inputs, at }
  // Last, because others of the same network wait for its counters until the commit.
  return (await belowFloor(tx, deps, mintable)) ?? reservePlaces(tx, deps, mintable)
}

/**
 * How many verdicts use a connection at the same time. A crowd on one network waits for its counters and must not take all
 * connections.
 */
const slots = { slotsMax: 3, waitingMax: 10_000 }

/**
 * The verdict that the person of a session is told. It can change with scoring, a step-up, a change of the policy or a free
 * place in a budget. If the person passes, the places that the credential will spend are reserved. Only a verified session
 * needs the database.
 */
export const makeReadVerdict = (deps: VerdictDeps) => {
  const inSlot = makeSlots(slots)
  return async (owner: Owner, session: Session): Promise<SessionVerdict> => {
    if (session.status === 'open' || session.status === 'closed') return { verdict: 'pending', reasons: [] }
    if (session.verified !== true) return rejectionOf(session)
    // The personhood credential that may follow is another act, of another agent: it has a floor and a budget of its own.
    if (isAttentionChallenge(session.challenge)) return { verdict: 'passed', reasons: [] }
    return inSlot(() => inTransaction(deps.ctx, 'system', (tx) => judgeVerified(tx, deps, owner, session)))
  }
}
