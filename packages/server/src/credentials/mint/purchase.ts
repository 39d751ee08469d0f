import type { CredentialClaims, Mode } from '@pohf/protocol'
import { evidenceItem, simulatedAttention } from '../../evidence/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { findSession, type Session } from '../../sessions/index.ts'
import { actKeyOf } from '../../signing/index.ts'
import { hasForgottenAct } from '../restore/store.ts'
import { refusalOf, signDraft, type CredentialsDeps, type SignedCredential, type WithToken } from './mint.ts'
import { commonClaims, pairwiseSubject } from '../rules.ts'
import { probesClaim } from './draft-session.ts'
import { sessionAssuranceInputs, type SessionAssuranceInputs } from './assurance-inputs.ts'
import { rootsClaim } from './root-claim.ts'
import { insertMintedCredential, type ActKey } from '../store.ts'

/** A purchased unit of work: its buyer, its payment, and the session in which a person did it. */
type PurchasedWork = {
  readonly agentId: AgentId
  readonly mode: Mode
  readonly purchaseId: string
  readonly workflowId: string
  readonly payer: string
  readonly transaction: string
  readonly answer: unknown
  /** The session of the agent that ordered the work. Null for a rehearsal, which has no session. */
  readonly session: { readonly agentId: AgentId; readonly sessionId: string } | null
}

/**
 * The session behind purchased work is missing or unverified, so no credential can be minted for it. The buyer reads
 * the message as the reason of the refund, so it does not name the session, which belongs to another agent.
 */
export class WorkEvidenceMissing extends Error {}

type CompletedWork = { readonly session: Session; readonly inputs: SessionAssuranceInputs }

/** The session and its assurance. Both belong to the agent that ordered the work. */
const findCompletedWork = async (
  tx: Tx,
  { mode, session: source }: PurchasedWork,
): Promise<CompletedWork | undefined> => {
  if (source === null) return undefined
  const { agentId, sessionId } = source
  const session = await findSession(tx, { agentId, mode, sessionId })
  if (!session || session.verified !== true)
    throw new WorkEvidenceMissing('session of the purchased work not found or not verified')
  const [inputs] = await sessionAssuranceInputs(tx, [{ agent: { agentId, mode }, session }])
  if (!inputs) throw new Error(`purchase mint found no assurance inputs for session ${sessionId}`)
  return { session, inputs }
}

const measurementClaims = (completed: CompletedWork | undefined) => {
  if (!completed) {
    const { quality, scoring } = simulatedAttention()
    return { quality, scoring }
  }
  const { quality, scoring, components, telemetry } = completed.session
  return {
    quality: quality ?? 0,
    ...(scoring === null ? {} : { scoring }),
    ...(components === null ? {} : { components: { ...components } }),
    ...probesClaim(completed.session),
    ...(telemetry === null ? {} : { telemetry: { ...telemetry } }),
  }
}

/** Salted hashes of the answer and the payment, besides the session's own evidence. */
const evidenceOf = (
  salt: Buffer,
  work: PurchasedWork,
  completed: CompletedWork | undefined,
): CredentialClaims['evidence'] => {
  const { purchaseId, transaction, payer, answer } = work
  const payment = {
    ...evidenceItem(salt, 'answer', { purchaseId, transaction, payer }),
    type: 'payment' as const,
  }
  if (!completed) return [evidenceItem(salt, 'simulated', { purchaseId, answer }), payment]
  return [
    ...completed.session.evidence.map((item) => ({ ...item })),
    evidenceItem(salt, 'answer', { answer }),
    payment,
  ].slice(-16)
}

const draftPurchaseCredential = async (tx: Tx, deps: MintDeps, work: PurchasedWork) => {
  const { agentId, mode, purchaseId, workflowId, payer, transaction } = work
  const completed = await findCompletedWork(tx, work)
  const at = await readNow(tx)
  const frame = commonClaims({ baseUrl: deps.ctx.config.BASE_URL, mode, kind: 'purchase', at })
  const [root] = await deps.roots.listCharges(
    tx,
    [{ agentId, mode, session: completed?.session, roots: completed?.inputs.roots ?? [] }],
    at,
  )
  const credentialId = deps.ctx.ids.make('crd_')
  const salt = Buffer.from(deps.ctx.ids.random(), 'base64url')
  const person = completed
    ? (completed.session.memberRef ?? completed.session.jkt ?? completed.session.sessionId)
    : `simulated ${purchaseId}`
  const facts = measurementClaims(completed)
  const claims: Omit<CredentialClaims, 'status'> = {
    ...frame,
    jti: credentialId,
    sub: pairwiseSubject(deps.ctx.secrets.derive('pairwise'), agentId, person),
    agent: agentId,
    event_at: completed
      ? Math.floor((completed.session.endedAt ?? completed.session.at).getTime() / 1_000)
      : frame.iat,
    assurance: completed?.inputs.assurance ?? 'low',
    ...rootsClaim(mode, completed?.inputs.roots ?? [], at),
    ...facts,
    evidence: evidenceOf(salt, work, completed),
    purchase: { id: purchaseId, workflow: workflowId, payer, transaction },
  }
  return {
    claims,
    answer: {
      verified: true,
      quality: facts.quality,
      credentialId,
      kind: 'purchase' as const,
      assurance: claims.assurance,
      expiresAt: new Date(claims.exp * 1_000).toISOString(),
      ...('telemetry' in facts ? { telemetry: facts.telemetry } : {}),
    },
    salt,
    simulated: completed === undefined,
    root: root ?? null,
  }
}

type MintDeps = Pick<CredentialsDeps, 'ctx' | 'signer' | 'mintSigner' | 'statusIndexes' | 'roots'>
type PurchaseAnswer = Awaited<ReturnType<typeof draftPurchaseCredential>>['answer']
export type PurchaseCredential = WithToken<PurchaseAnswer>

/** A signed credential that is not stored yet. It names the transaction that pays for it. */
export type SignedPurchaseCredential = SignedCredential<PurchaseAnswer>

export type PurchaseMint = {
  /** Whether a restored database has forgotten the credential of this purchase, which was delivered. */
  readonly isForgotten: (
    purchase: Omit<ActKey, 'act' | 'reference'> & { readonly purchaseId: string },
  ) => Promise<boolean>
  /** Fails when the signer is unavailable or a restore is pending, so that nothing is charged. */
  readonly ready: () => Promise<void>
  /**
   * Signs the credential of a purchase and writes nothing. Nobody receives it before `write`, so it may be signed
   * before the payment is proven and is dropped if the payment fails. Throws WorkEvidenceMissing when the session
   * is missing.
   */
  readonly sign: (work: PurchasedWork) => Promise<SignedPurchaseCredential>
  /**
   * Writes a signed credential, once, in the transaction of the delivery. It costs no credit: it was paid on the
   * chain. False when another process wrote it first.
   */
  readonly write: (tx: Tx, signed: SignedPurchaseCredential) => Promise<boolean>
}

/** Within this time a passed self-test is reused; a credential that then cannot be signed is delivered later. */
const selfTestCacheMs = 1_000

const makeCachedSelfTest = ({ ctx, signer, mintSigner }: MintDeps): (() => Promise<void>) => {
  let passedAt = Number.NEGATIVE_INFINITY
  return async () => {
    const now = ctx.clock.now().getTime()
    if (Math.abs(now - passedAt) < selfTestCacheMs) return
    await mintSigner.ready()
    await signer.selfTest()
    passedAt = now
  }
}

const keyOf = (agentId: string, mode: Mode, purchaseId: string): ActKey => ({
  agentId,
  mode,
  act: 'purchase',
  reference: purchaseId,
})

export const makePurchaseMint = (deps: MintDeps): PurchaseMint => ({
  isForgotten: ({ agentId, mode, purchaseId }) => {
    const actKey = actKeyOf(deps.ctx, keyOf(agentId, mode, purchaseId))
    return inTransaction(deps.ctx, 'system', (tx) => hasForgottenAct(tx, agentId, actKey))
  },
  ready: makeCachedSelfTest(deps),
  sign: async (work) => {
    const { agentId, mode, purchaseId } = work
    const key = keyOf(agentId, mode, purchaseId)
    const draft = await inTransaction(deps.ctx, 'system', (tx) => draftPurchaseCredential(tx, deps, work))
    return signDraft(deps, { key, ...draft, replaces: undefined, sessionId: null, charged: false })
  },
  write: async (tx, signed) => {
    const outcome = await insertMintedCredential(tx, signed.row)
    if (outcome === 'lost') return false
    if (outcome !== 'granted') throw refusalOf(deps.ctx, { outcome, at: signed.row.at })
    return true
  },
})
