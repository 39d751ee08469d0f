import type { CredentialClaims, Mode } from '@pohf/protocol'
import { evidenceItem, simulatedAttention } from '../../evidence/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { findSession, type Session } from '../../sessions/index.ts'
import { refusalOf, signDrafts, type CredentialsDeps, type SignedCredential, type WithToken } from './mint.ts'
import { commonClaims, pairwiseSubject } from '../rules.ts'
import { sessionAssuranceInputs } from './assurance-inputs.ts'
import { insertMintedCredentials, type ActKey } from '../store.ts'

/** A unit of work that was paid for: who bought it, with what, and in which session a person did it. */
type PurchasedWork = {
  readonly agentId: `agt_${string}`
  readonly mode: Mode
  readonly purchaseId: string
  readonly workflowId: string
  readonly payer: string
  readonly transaction: string
  readonly answer: unknown
  /** Where the work was done: the session of the agent that had it made. Null for a rehearsal, which nobody did. */
  readonly session: { readonly agentId: `agt_${string}`; readonly sessionId: string } | null
}

/** The work that was paid for cannot be shown any more, so no credential can say that somebody did it. */
export class WorkEvidenceMissing extends Error {}

type CompletedWork = { readonly session: Session; readonly assurance: CredentialClaims['assurance'] }

/** The session and what stands behind it. Both belong to whoever had the work made. */
const findCompletedWork = async (
  tx: Tx,
  { mode, session: location }: PurchasedWork,
): Promise<CompletedWork | undefined> => {
  if (location === null) return undefined
  const { agentId, sessionId } = location
  const session = await findSession(tx, { agentId, mode, sessionId })
  if (!session || session.verified !== true)
    throw new WorkEvidenceMissing('session of the purchased work not found or not verified')
  const agent = { agentId, mode, keyId: '', scopes: [], ratePerMinute: null }
  const [standing] = await sessionAssuranceInputs(tx, [{ agent, session }])
  return { session, assurance: standing?.assurance ?? 'low' }
}

const measurementClaims = (done: CompletedWork | undefined) => {
  if (!done) {
    const { quality, scoring } = simulatedAttention()
    return { quality, scoring }
  }
  const { quality, scoring, components, telemetry } = done.session
  return {
    quality: quality ?? 0,
    ...(scoring === null ? {} : { scoring }),
    ...(components === null ? {} : { components: { ...components } }),
    ...(telemetry === null ? {} : { telemetry: { ...telemetry } }),
  }
}

/** The answer and the payment by salted hashes, beside what the session itself left. */
const evidenceOf = (
  salt: Buffer,
  sale: PurchasedWork,
  done: CompletedWork | undefined,
): CredentialClaims['evidence'] => {
  const { purchaseId, transaction, payer, answer } = sale
  const payment = {
    ...evidenceItem(salt, 'answer', { purchaseId, transaction, payer }),
    type: 'payment' as const,
  }
  if (!done) return [evidenceItem(salt, 'simulated', { purchaseId, answer }), payment]
  return [
    ...done.session.evidence.map((item) => ({ ...item })),
    evidenceItem(salt, 'answer', { answer }),
    payment,
  ].slice(-16)
}

const draftPurchaseCredential = async (tx: Tx, deps: MintDeps, sale: PurchasedWork) => {
  const { agentId, mode, purchaseId, workflowId, payer, transaction } = sale
  const done = await findCompletedWork(tx, sale)
  const frame = commonClaims({
    baseUrl: deps.ctx.config.BASE_URL,
    mode,
    kind: 'purchase',
    at: await readNow(tx),
  })
  const credentialId = deps.ctx.ids.make('crd_')
  const salt = Buffer.from(deps.ctx.ids.token(), 'base64url')
  const person = done
    ? (done.session.memberRef ?? done.session.jkt ?? done.session.sessionId)
    : `simulated ${purchaseId}`
  const facts = measurementClaims(done)
  const claims: Omit<CredentialClaims, 'status'> = {
    ...frame,
    jti: credentialId,
    sub: pairwiseSubject(deps.ctx.secrets.derive('pairwise'), agentId, person),
    agent: agentId,
    event_at: done ? Math.floor((done.session.endedAt ?? done.session.at).getTime() / 1_000) : frame.iat,
    assurance: done?.assurance ?? 'low',
    ...facts,
    evidence: evidenceOf(salt, sale, done),
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
    simulated: done === undefined,
  }
}

type MintDeps = Pick<CredentialsDeps, 'ctx' | 'signer' | 'statusIndexes'>
type PurchaseAnswer = Awaited<ReturnType<typeof draftPurchaseCredential>>['answer']
export type PurchaseCredential = WithToken<PurchaseAnswer>

/** A signed credential that is nobody's yet. It names the transaction that pays for it. */
export type SignedPurchaseCredential = SignedCredential<PurchaseAnswer>

export type PurchaseMint = {
  /** Fails where a credential could not be signed now: then nothing is charged. */
  readonly ready: () => Promise<void>
  /**
   * Signs the credential of a purchase and writes nothing. Nobody has it until `write` has written it, so it may be
   * signed before the payment is proven, and is forgotten if it never is. Throws WorkGone where nothing can be shown.
   */
  readonly sign: (sale: PurchasedWork) => Promise<SignedPurchaseCredential>
  /**
   * Writes a signed credential, once, in one transaction with what else makes its purchase delivered. It costs no credit:
   * it was paid for on the chain. False where another did it meanwhile.
   */
  readonly write: (
    signed: SignedPurchaseCredential,
    within: (tx: Tx, credential: PurchaseCredential) => Promise<void>,
  ) => Promise<boolean>
}

/** A signer that was well a second ago is taken to be well: what it cannot sign then is delivered later. */
const selfTestCacheMs = 1_000

const makeCachedSelfTest = ({ ctx, signer }: MintDeps): (() => Promise<void>) => {
  let passedAt = Number.NEGATIVE_INFINITY
  return async () => {
    const now = ctx.clock.now().getTime()
    if (Math.abs(now - passedAt) < selfTestCacheMs) return
    await signer.selfTest()
    passedAt = now
  }
}

export const makePurchaseMint = (deps: MintDeps): PurchaseMint => ({
  ready: makeCachedSelfTest(deps),
  sign: async (sale) => {
    const { agentId, mode, purchaseId } = sale
    const key: ActKey = { agentId, mode, act: 'purchase', reference: purchaseId }
    const draft = await inTransaction(deps.ctx, 'system', (tx) => draftPurchaseCredential(tx, deps, sale))
    const full = { key, ...draft, replaces: undefined, sessionId: null, charged: false }
    const [signed] = await signDrafts(deps, [full])
    if (!signed) throw new Error('signer returned no credential')
    return signed
  },
  // As the system: the unit is the house's, and the purchase may be another agent's.
  write: (signed, within) =>
    inTransaction(deps.ctx, 'system', async (tx) => {
      const [outcome = 'lost'] = await insertMintedCredentials(tx, [signed.row])
      if (outcome === 'lost') return false
      if (outcome !== 'granted') throw refusalOf(deps.ctx, outcome)
      await within(tx, signed.answer.body)
      return true
    }),
})
