import { createHash } from 'node:crypto'
import type { CredentialClaims } from '@pohf/protocol'
import type { Agent } from '../platform/call.ts'
import { inTransaction, readNow, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { publish } from '../platform/outbox.ts'
import { evidenceItem, resolveSession, simulatedAttention } from '../evidence/index.ts'
import { resolveMember } from '../members/index.ts'
import { mint, repeatOf, type Deps } from './mint.ts'
import { frameClaims, normalisePaymentRef, pairwiseSubject, railOf } from './rules.ts'
import { findStored, insertPaymentBinding } from './store.ts'
import { requireEnrolled } from './verify-personhood.ts'
import { requireVerified } from './verify.ts'

type Input = {
  readonly paymentRef?: string | undefined
  readonly sessionId?: string | undefined
  readonly memberId?: string | undefined
  readonly workRef?: string | undefined
  readonly test?: boolean | undefined
}

type Human = {
  readonly by: 'session' | 'member' | 'work'
  readonly ref: string
  readonly person: string
  readonly quality: number
  readonly simulated: boolean
}

const sessionHuman = async (tx: Tx, agent: Agent, sessionId: string): Promise<Human> => {
  const session = requireVerified(await resolveSession(tx, agent, sessionId))
  return {
    by: 'session',
    ref: sessionId,
    person: session.memberRef ?? session.jkt ?? sessionId,
    quality: session.quality ?? 0,
    simulated: session.simulated,
  }
}

const memberHuman = async (tx: Tx, agent: Agent, memberId: string): Promise<Human> => {
  const member = requireEnrolled(await resolveMember(tx, agent, memberId))
  return {
    by: 'member',
    ref: memberId,
    person: memberId,
    quality: member.simulated ? simulatedAttention().quality : member.attention.quality,
    simulated: member.simulated,
  }
}

/** Every human that the anchors name. In the sandbox each is simulated and they always agree. */
const humansOf = async (tx: Tx, deps: Deps, agent: Agent, input: Input): Promise<Human[]> => {
  const humans: Human[] = []
  if (input.sessionId !== undefined) humans.push(await sessionHuman(tx, agent, input.sessionId))
  if (input.memberId !== undefined) humans.push(await memberHuman(tx, agent, input.memberId))
  if (input.workRef !== undefined) {
    const work = await deps.findWorkRef(tx, { agentId: agent.agentId, mode: agent.mode, ref: input.workRef })
    const person = work?.humanRef ?? (agent.mode === 'test' ? input.workRef : undefined)
    if (person !== undefined) {
      humans.push({
        by: 'work',
        ref: input.workRef,
        person,
        quality: simulatedAttention().quality,
        simulated: agent.mode === 'test',
      })
    } else if (humans.length === 0) {
      throw work
        ? new Refusal('missing_human_anchor', { message: 'No human has delivered this work yet.' })
        : new Refusal('not_found', { message: 'No such work.' })
    }
  }
  return humans
}

const requireOneHuman = (humans: readonly Human[]): Human => {
  const [first] = humans
  if (!first) throw new Refusal('missing_human_anchor')
  const agree = humans.every((human) => human.simulated || human.person === first.person)
  if (!agree) throw new Refusal('anchor_mismatch')
  return first
}

/** The payment that is bound: a reference, our own paid work, or nothing but a rehearsal. */
const paymentOf = async (tx: Tx, deps: Deps, agent: Agent, input: Input): Promise<string> => {
  if (input.paymentRef !== undefined) return normalisePaymentRef(input.paymentRef)
  if (input.workRef !== undefined) {
    const work = await deps.findWorkRef(tx, { agentId: agent.agentId, mode: agent.mode, ref: input.workRef })
    if (work?.paid)
      return input.workRef.startsWith('pur_') ? `x402:${input.workRef}` : `card:${input.workRef}`
  }
  if (input.test === true) return 'test:rehearsal'
  throw new Refusal('missing_payment_anchor')
}

const referenceOf = (paymentRef: string, input: Input): string =>
  createHash('sha256')
    .update(
      JSON.stringify([paymentRef, input.sessionId ?? null, input.memberId ?? null, input.workRef ?? null]),
    )
    .digest('base64url')

/** Ties a verified human to a payment reference. Spends no credit. */
export const bindTransaction = async (deps: Deps, caller: Agent, input: Input) => {
  // The one exception to "mode comes from the key": `test: true` writes this binding, and only it, as test.
  const agent: Agent = input.test === true ? { ...caller, mode: 'test' } : caller
  if (input.sessionId === undefined && input.memberId === undefined && input.workRef === undefined) {
    throw new Refusal(
      input.paymentRef === undefined && input.test !== true
        ? 'missing_payment_anchor'
        : 'missing_human_anchor',
    )
  }
  const looked = await inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const paymentRef = await paymentOf(tx, deps, agent, input)
    const key = {
      agentId: agent.agentId,
      mode: agent.mode,
      act: 'binding',
      reference: referenceOf(paymentRef, input),
    } as const
    const stored = await findStored(tx, key)
    if (stored && (!stored.expired || stored.state === 'revoked'))
      return { repeat: repeatOf<Answered>(stored) }
    const human = requireOneHuman(await humansOf(tx, deps, agent, input))
    return {
      key,
      human,
      paymentRef,
      draft: await draftOf(tx, deps, agent, { human, paymentRef }),
      replaces: stored?.credentialId,
    }
  })
  if (looked.repeat) return looked.repeat
  const { key, human, paymentRef, draft, replaces } = looked
  const full = {
    key,
    ...draft,
    replaces,
    simulated: human.simulated,
    sessionId: input.sessionId ?? null,
    charged: false,
  }
  return mint(deps, full, async (tx) => {
    if (
      agent.mode === 'live' &&
      !(await insertPaymentBinding(tx, { agentId: agent.agentId, mode: 'live', paymentRef }, human.person))
    )
      throw new Refusal('payment_ref_bound')
    const data = { credentialId: draft.claims.jti, rail: draft.answer.binding.rail, paymentRef }
    await publish(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      type: 'transaction.bound',
      subject: draft.claims.jti,
      data,
    })
  })
}

type Answered = Awaited<ReturnType<typeof draftOf>>['answer']

const draftOf = async (tx: Tx, deps: Deps, agent: Agent, bound: { human: Human; paymentRef: string }) => {
  const { human, paymentRef } = bound
  const frame = frameClaims({
    baseUrl: deps.ctx.config.BASE_URL,
    mode: agent.mode,
    kind: 'binding',
    at: await readNow(tx),
  })
  const credentialId = deps.ctx.ids.make('crd_')
  const salt = Buffer.from(deps.ctx.ids.token(), 'base64url')
  const rail = railOf(paymentRef)
  // No rail is looked up yet, so a live reference is what the agent says it is.
  const assurance = agent.mode === 'test' ? ('test' as const) : ('asserted' as const)
  const sub = pairwiseSubject(deps.ctx.secrets.derive('pairwise'), agent.agentId, human.person)
  // A signed document cannot be changed: it names a member by the code from which nothing leads back after erasure.
  const humanRef = human.by === 'member' ? sub : human.ref
  const claims: Omit<CredentialClaims, 'status'> = {
    ...frame,
    jti: credentialId,
    sub,
    agent: agent.agentId,
    event_at: frame.iat,
    assurance: 'low',
    quality: human.quality,
    evidence: [
      {
        ...evidenceItem(salt, human.simulated ? 'simulated' : 'answer', { paymentRef, human: humanRef }),
        type: human.simulated ? 'simulated' : 'payment',
      },
    ],
    binding: { payment_ref: paymentRef, rail, assurance, human: human.by, human_ref: humanRef },
  }
  return {
    claims,
    answer: {
      verified: true,
      quality: human.quality,
      credentialId,
      kind: 'binding' as const,
      assurance: 'low' as const,
      expiresAt: new Date(frame.exp * 1_000).toISOString(),
      binding: { paymentRef, rail, assurance },
    },
    salt,
  }
}
