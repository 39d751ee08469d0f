import type { CredentialClaims, Mode } from '@pohf/protocol'
import { evidenceItem, simulatedAttention } from '../../evidence/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { findSession, type Session } from '../../sessions/index.ts'
import { refusalOf, signDrafts, type Deps, type Signed, type WithToken } from './mint.ts'
import { frameClaims, pairwiseSubject } from '../rules.ts'
import { sessionStandings } from './assurance-inputs.ts'
import { insertMinted, type ActKey } from '../store.ts'

/** A unit of work that was paid for: who bought it, with what, and in which session a person did it. */
type Sale = {
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
export class WorkGone extends Error {}

type Done = { readonly session: Session; readonly assurance: CredentialClaims['assurance'] }

/** The session and what stands behind it. Both belong to whoever had the work made. */
const findDone = async (tx: Tx, { mode, session: place }: Sale): Promise<Done | undefined> => {
  if (place === null) return undefined
  const { agentId, sessionId } = place
  const session = await findSession(tx, { agentId, mode, sessionId })
  if (!session || session.verified !== true) throw new WorkGone('the session of a sold unit is gone')
  const agent = { agentId, mode, keyId: '', scopes: [], ratePerMinute: null }
  const [standing] = await sessionStandings(tx, [{ agent, session }])
  return { session, assurance: standing?.assurance ?? 'low' }
}

const measured = (done: Done | undefined) => {
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
const evidenceOf = (salt: Buffer, sale: Sale, done: Done | undefined): CredentialClaims['evidence'] => {
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

const draftOf = async (tx: Tx, deps: MintDeps, sale: Sale) => {
  const { agentId, mode, purchaseId, workflowId, payer, transaction } = sale
  const done = await findDone(tx, sale)
  const frame = frameClaims({
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
  const facts = measured(done)
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

type MintDeps = Pick<Deps, 'ctx' | 'signer' | 'statusIndexes'>
type Answered = Awaited<ReturnType<typeof draftOf>>['answer']
export type PurchaseCredential = WithToken<Answered>

/** A signed credential that is nobody's yet. It names the transaction that pays for it. */
export type SignedSale = Signed<Answered>

export type PurchaseMint = {
  /** Fails where a credential could not be signed now: then nothing is charged. */
  readonly ready: () => Promise<void>
  /**
   * Signs the credential of a purchase and writes nothing. Nobody has it until `write` has written it, so it may be
   * signed before the payment is proven, and is forgotten if it never is. Throws WorkGone where nothing can be shown.
   */
  readonly sign: (sale: Sale) => Promise<SignedSale>
  /**
   * Writes a signed credential, once, in one transaction with what else makes its purchase delivered. It costs no credit:
   * it was paid for on the chain. False where another did it meanwhile.
   */
  readonly write: (
    signed: SignedSale,
    within: (tx: Tx, credential: PurchaseCredential) => Promise<void>,
  ) => Promise<boolean>
}

/** A signer that was well a second ago is taken to be well: what it cannot sign then is delivered later. */
const wellMs = 1_000

const readyOnce = ({ ctx, signer }: MintDeps): (() => Promise<void>) => {
  let wellAt = Number.NEGATIVE_INFINITY
  return async () => {
    const now = ctx.clock.now().getTime()
    if (Math.abs(now - wellAt) < wellMs) return
    await signer.selfTest()
    wellAt = now
  }
}

export const makePurchaseMint = (deps: MintDeps): PurchaseMint => ({
  ready: readyOnce(deps),
  sign: async (sale) => {
    const { agentId, mode, purchaseId } = sale
    const key: ActKey = { agentId, mode, act: 'purchase', reference: purchaseId }
    const draft = await inTransaction(deps.ctx, 'system', (tx) => draftOf(tx, deps, sale))
    const full = { key, ...draft, replaces: undefined, sessionId: null, charged: false }
    const [signed] = await signDrafts(deps, [full])
    if (!signed) throw new Error('nothing was signed')
    return signed
  },
  // As the system: the unit is the house's, and the purchase may be another agent's.
  write: (signed, within) =>
    inTransaction(deps.ctx, 'system', async (tx) => {
      const [outcome = 'lost'] = await insertMinted(tx, [signed.row])
      if (outcome === 'lost') return false
      if (outcome !== 'granted') throw refusalOf(deps.ctx, outcome)
      await within(tx, signed.answer.body)
      return true
    }),
})
