import { createHash } from 'node:crypto'
import type { CredentialClaims } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import {
  consumeWalletNonce,
  evidenceItem,
  resolveSession,
  simulatedAttention,
  type WalletProof,
} from '../../evidence/index.ts'
import { resolveMember } from '../../members/index.ts'
import type { SessionRef } from '../../roots/index.ts'
import { isForgottenValue, journalKeyOf } from '../../signing/index.ts'
import { mint, replayUnrevoked, type CredentialsDeps } from '../mint/mint.ts'
import { rootsClaim } from '../mint/root-claim.ts'
import { requireAllowance, spendAllowance, type AllowanceDeps } from './allowance.ts'
import { provePayer, readPayerProof } from './payer.ts'
import { lookUpPayment, type FindCardPayment } from './payment-look-up.ts'
import { parsePaymentRef, publicPurchaseId, type PaymentRef } from './payment-ref.ts'
import { notSettled, type PaymentSettlement } from './payment-settled.ts'
import { requireEnrolled, requireVerified } from '../refusals.ts'
import { commonClaims, pairwiseSubject, sessionPerson } from '../rules.ts'
import { findCredentialSession, findMintedCredential, insertPaymentBinding } from '../store.ts'

export type BindDeps = CredentialsDeps & AllowanceDeps & { readonly findCardPayment: FindCardPayment }

type Input = {
  readonly paymentRef?: string | undefined
  readonly sessionId?: string | undefined
  readonly memberId?: string | undefined
  readonly workRef?: string | undefined
  readonly payee?: string | undefined
  readonly wallet?: string | undefined
  readonly walletSig?: string | undefined
  readonly walletNonce?: string | undefined
  readonly test?: boolean | undefined
}

type HumanAnchor = {
  readonly by: 'session' | 'member' | 'work'
  readonly ref: string
  readonly person: string
  readonly quality: number
  readonly simulated: boolean
  /** The session that the binding spends on. */
  readonly session: SessionRef | undefined
}
type Work = Awaited<ReturnType<CredentialsDeps['findWorkRef']>>

const sessionAnchor = async (tx: Tx, agent: Agent, sessionId: string): Promise<HumanAnchor> => {
  const session = requireVerified(await resolveSession(tx, agent, sessionId))
  const act = { agentId: agent.agentId, mode: agent.mode, act: 'session', reference: sessionId } as const
  const minted = await findMintedCredential(tx, act)
  if (minted && minted.state !== 'issued')
    throw new Refusal('credential_revoked', {
      message: 'The credential of this session is suspended or revoked.',
    })
  return {
    by: 'session',
    ref: sessionId,
    person: sessionPerson(session),
    quality: session.quality ?? 0,
    simulated: session.simulated,
    session,
  }
}

const memberAnchor = async (tx: Tx, agent: Agent, memberId: string): Promise<HumanAnchor> => {
  const member = requireEnrolled(await resolveMember(tx, agent, memberId))
  return {
    by: 'member',
    ref: memberId,
    person: memberId,
    quality: member.simulated ? simulatedAttention().quality : member.attention.quality,
    simulated: member.simulated,
    session: member.simulated ? undefined : member.attention,
  }
}

/**
 * The human who did this work: the subject of the session behind its credential, or the one recorded with the work.
 */
const workAnchor = async (
  tx: Tx,
  agent: Agent,
  workRef: string,
  work: Work,
): Promise<HumanAnchor | undefined> => {
  const key = { agentId: agent.agentId, mode: agent.mode, credentialId: workRef }
  const sessionId = workRef.startsWith('crd_') ? await findCredentialSession(tx, key) : undefined
  if (sessionId !== undefined)
    return { ...(await sessionAnchor(tx, agent, sessionId)), by: 'work', ref: workRef }
  const simulated = agent.mode === 'test'
  const person = work?.humanRef ?? (simulated ? workRef : undefined)
  if (person !== undefined) {
    const quality = work?.quality ?? (simulated ? simulatedAttention().quality : 0)
    return { by: 'work', ref: workRef, person, quality, simulated, session: work?.session }
  }
  if (!work) throw new Refusal('not_found', { message: 'No such work.' })
  return undefined
}

/** All humans that the anchors name. In the sandbox each is simulated and they always agree. */
const listHumanAnchors = async (tx: Tx, agent: Agent, input: Input, work: Work): Promise<HumanAnchor[]> => {
  const { sessionId, memberId, workRef } = input
  const humans = [
    sessionId === undefined ? undefined : await sessionAnchor(tx, agent, sessionId),
    memberId === undefined ? undefined : await memberAnchor(tx, agent, memberId),
    workRef === undefined ? undefined : await workAnchor(tx, agent, workRef, work),
  ].filter((human) => human !== undefined)
  if (humans.length === 0)
    throw new Refusal('missing_human_anchor', { message: 'No human has delivered this work yet.' })
  return humans
}

const requireOneAnchor = (humans: readonly HumanAnchor[]): HumanAnchor => {
  const [first] = humans
  if (!first) throw new Refusal('missing_human_anchor')
  const agree = humans.every((human) => human.simulated || human.person === first.person)
  if (!agree) throw new Refusal('anchor_mismatch')
  return first
}

/** The payment to bind: the given reference, our own paid work, or a test rehearsal. */
const paymentOf = (input: Input, work: Work): PaymentRef => {
  const { paymentRef, workRef } = input
  if (paymentRef !== undefined) return parsePaymentRef(paymentRef)
  if (workRef !== undefined && work?.paid)
    return parsePaymentRef(workRef.startsWith('pur_') ? `x402:${workRef}` : `card:${workRef}`)
  if (input.test === true) return parsePaymentRef('test:rehearsal')
  throw new Refusal('missing_payment_anchor')
}

/** Idempotency reference: the same anchors give the same binding. */
const bindingReference = (paymentRef: string, input: Input): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        paymentRef,
        input.sessionId ?? null,
        input.memberId ?? null,
        input.workRef ?? null,
        ...(input.payee === undefined ? [] : [input.payee.toLowerCase()]),
        // A binding with a proof of the payer differs from a binding of the same payment without one.
        ...(input.wallet === undefined ? [] : [`payer ${input.wallet.toLowerCase()}`]),
      ]),
    )
    .digest('base64url')

const requireAnchors = (input: Input): void => {
  const { sessionId, memberId, workRef, paymentRef } = input
  if (sessionId === undefined && memberId === undefined && workRef === undefined)
    throw new Refusal(
      paymentRef === undefined && input.test !== true ? 'missing_payment_anchor' : 'missing_human_anchor',
    )
  const target = paymentRef === undefined ? undefined : parsePaymentRef(paymentRef).target
  if (input.payee !== undefined && target?.kind !== 'transfer')
    throw new Refusal('validation_failed', {
      details: [
        {
          path: 'body.payee',
          code: 'no_chain',
          message: 'requires a paymentRef that names a transaction on a chain',
        },
      ],
    })
}

/** The settlement of an order or a purchase of this service, read from the database alone. */
const findOwnSettlement = async (
  tx: Tx,
  deps: CredentialsDeps,
  agent: Agent,
  { ref, target }: PaymentRef,
): Promise<PaymentSettlement | undefined> => {
  if (target.kind !== 'own' || agent.mode === 'test') return undefined
  const work = await deps.findWorkRef(tx, { agentId: agent.agentId, mode: agent.mode, ref: target.id })
  if (!work?.paid) throw notSettled('unpaid', 'no paid order or purchase has this reference')
  return { identity: ref, isPayerProven: true }
}

type BindingInput = {
  readonly human: HumanAnchor
  readonly payment: PaymentRef
  readonly settled: PaymentSettlement | undefined
  readonly at: Date
}

/** The stored binding of these anchors, or what the new one needs from the database. */
const loadBinding = (deps: BindDeps, agent: Agent, input: Input) =>
  inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const { workRef } = input
    const tenant = { agentId: agent.agentId, mode: agent.mode }
    const work = workRef === undefined ? undefined : await deps.findWorkRef(tx, { ...tenant, ref: workRef })
    const payment = paymentOf(input, work)
    const key = { ...tenant, act: 'binding', reference: bindingReference(payment.ref, input) } as const
    const stored = await findMintedCredential(tx, key)
    if (stored && (!stored.expired || stored.state !== 'issued'))
      return { repeat: replayUnrevoked<BindingAnswer>(stored) }
    // Check both before the payment: a request without them must not cost a call to a chain or provider.
    const human = requireOneAnchor(await listHumanAnchors(tx, agent, input, work))
    await requireAllowance(tx, deps, agent)
    const own = await findOwnSettlement(tx, deps, agent, payment)
    return { key, human, payment, own, replaces: stored?.credentialId }
  })

/** Looks up a live payment that is not our own, for the proven payer where there is one. */
const findSettlement = async (
  deps: BindDeps,
  { agentId }: Agent,
  payment: PaymentRef,
  { proof, memberId, payee }: Pick<Input, 'memberId' | 'payee'> & { proof: WalletProof | undefined },
): Promise<PaymentSettlement | undefined> => {
  const { target } = payment
  const payer = proof && (await provePayer(deps.ctx, agentId, proof, { target, memberId }))
  return lookUpPayment(deps, { agentId, payment, payee, payer })
}

/** The time of the binding, after the look-up, and what it spends at that time. */
const loadCharge = ({ ctx, roots }: BindDeps, { agentId, mode }: Agent, { session }: HumanAnchor) =>
  inTransaction(ctx, agentId, async (tx) => {
    const at = await readNow(tx)
    const [root] = await roots.listCharges(tx, [{ agentId, mode, session, roots: [] }], at)
    // The reservation of the session is for its own credential.
    return { at, root: root ? { ...root, session: null } : null }
  })

/** Binds a verified human to a payment reference. Spends no credit, and one of the month's bindings. */
export const bindTransaction = async (deps: BindDeps, caller: Agent, request: Input) => {
  const input: Input =
    request.workRef === undefined ? request : { ...request, workRef: publicPurchaseId(request.workRef) }
  // The one exception to "mode comes from the key": `test: true` writes this binding, and only it, as test.
  const agent: Agent = input.test === true ? { ...caller, mode: 'test' } : caller
  requireAnchors(input)
  const proof = readPayerProof(input)
  const lookup = await loadBinding(deps, agent, input)
  if (lookup.repeat) return lookup.repeat
  const { key, human, payment, own, replaces } = lookup
  const isLookedUp = agent.mode === 'live' && !own
  const found = isLookedUp ? await findSettlement(deps, agent, payment, { ...input, proof }) : undefined
  const { at, root } = await loadCharge(deps, agent, human)
  const bound = paymentNamesOf(payment, own ?? found)
  const draft = draftBinding(deps, agent, { human, payment, settled: own ?? found, at })
  const full = {
    key,
    ...draft,
    root,
    replaces,
    simulated: human.simulated,
    sessionId: input.sessionId ?? null,
    charged: false,
    once: agent.mode === 'test' ? undefined : bound.flatMap(paymentKeysOf(deps, agent, human)),
  }
  return mint(deps, full, async (tx) => {
    await spendAllowance(tx, deps, agent)
    await claimPayment(tx, deps, agent, { human, names: bound })
    if (isLookedUp && proof) await consumeWalletNonce(tx, agent.agentId, proof.walletNonce)
    const data = { credentialId: draft.claims.jti, rail: payment.rail, paymentRef: payment.ref }
    await publish(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      type: 'transaction.bound',
      subject: draft.claims.jti,
      data,
    })
  })
}

/** The references to a payment, in a fixed order, so that two concurrent bindings cannot deadlock. */
const paymentNamesOf = (payment: PaymentRef, settled: PaymentSettlement | undefined): string[] =>
  [...new Set([payment.ref, ...(settled ? [settled.identity] : [])])].toSorted()

/** The keyed values of a bound payment for the journal: without its human, and with. */
const paymentKeysOf =
  ({ ctx }: CredentialsDeps, { agentId }: Agent, { person }: HumanAnchor) =>
  (name: string): [string, string] => [
    journalKeyOf(ctx, 'payment', `${agentId} ${name}`),
    journalKeyOf(ctx, 'payment', `${agentId} ${name} ${person}`),
  ]

/** A live payment binds one human per agent, under every reference to it, also if a restored database has forgotten it. */
const claimPayment = async (
  tx: Tx,
  deps: CredentialsDeps,
  agent: Agent,
  { human, names }: { readonly human: HumanAnchor; readonly names: readonly string[] },
): Promise<void> => {
  if (agent.mode === 'test') return
  const keysOf = paymentKeysOf(deps, agent, human)
  for (const paymentRef of names) {
    const key = { agentId: agent.agentId, mode: 'live', paymentRef } as const
    const [bound, boundToHuman] = keysOf(paymentRef)
    const isForgotten = (await isForgottenValue(tx, bound)) && !(await isForgottenValue(tx, boundToHuman))
    if (isForgotten || !(await insertPaymentBinding(tx, key, human.person)))
      throw new Refusal('payment_ref_bound')
  }
}

type BindingAnswer = ReturnType<typeof draftBinding>['answer']

const draftBinding = (deps: CredentialsDeps, agent: Agent, { human, payment, settled, at }: BindingInput) => {
  const { ref: paymentRef, rail } = payment
  const frame = commonClaims({ baseUrl: deps.ctx.config.BASE_URL, mode: agent.mode, kind: 'binding', at })
  const credentialId = deps.ctx.ids.make('crd_')
  const salt = Buffer.from(deps.ctx.ids.random(), 'base64url')
  const settlementClaims =
    settled?.isPayerProven === true
      ? {
          checked_at: frame.iat,
          ...(settled.amount === undefined ? {} : { amount: settled.amount }),
          ...(settled.currency === undefined ? {} : { currency: settled.currency }),
          ...(settled.payee === undefined ? {} : { payee: settled.payee }),
        }
      : undefined
  // `asserted`: there was no look-up, or the payer is not proven, so only the agent says that this human paid.
  const assurance = agent.mode === 'test' ? 'test' : settlementClaims ? 'verified' : 'asserted'
  const sub = pairwiseSubject(deps.ctx.secrets.derive('pairwise'), agent.agentId, human.person)
  // A signed document cannot be changed, so it names a member by the pairwise code, which no longer resolves after
  // erasure.
  const humanRef = human.by === 'member' ? sub : human.ref
  const document = { paymentRef, human: humanRef, ...settlementClaims }
  const claims: Omit<CredentialClaims, 'status'> = {
    ...frame,
    jti: credentialId,
    sub,
    agent: agent.agentId,
    event_at: frame.iat,
    assurance: 'low',
    ...rootsClaim(agent.mode, [], at),
    quality: human.quality,
    evidence: [
      {
        ...evidenceItem(salt, human.simulated ? 'simulated' : 'answer', document),
        type: human.simulated ? 'simulated' : 'payment',
      },
    ],
    binding: {
      payment_ref: paymentRef,
      rail,
      assurance,
      human: human.by,
      human_ref: humanRef,
      ...settlementClaims,
    },
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
      binding: { paymentRef, rail, assurance } as const,
    },
    salt,
  }
}
