import type { CredentialClaims, Mode } from '@pohf/protocol'
import type { Credits } from '../credits/index.ts'
import { Answer, type Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { publish } from '../platform/outbox.ts'
import { lint, type Signer } from '../signing/index.ts'
import type { StatusIndexes, StatusPlace } from './status-indexes.ts'
import { findStored, insertClaim, insertCredential, type ActKey, type Stored } from './store.ts'

type WorkRef = { readonly humanRef: string | null; readonly paid: boolean }
export type Deps = {
  readonly ctx: Ctx
  readonly signer: Signer
  readonly statusIndexes: StatusIndexes
  readonly credits: Pick<Credits, 'hasAllowance' | 'spendOne'>
  /** Work sits above this module, so app.ts hands its look-up down. */
  readonly findWorkRef: (
    tx: Tx,
    ref: { readonly agentId: string; readonly mode: Mode; readonly ref: string },
  ) => Promise<WorkRef | undefined>
}

/** Refuses a caller who cannot pay, before it learns anything about sessions or members. */
export const requireAllowance = async (tx: Tx, deps: Deps, agent: Agent): Promise<void> => {
  if (await deps.credits.hasAllowance(tx, agent)) return
  throw new Refusal('insufficient_credits', { buy: `${deps.ctx.config.BASE_URL}/buy` })
}

/** A credential that is ready to be signed, and what happens in the transaction that records it. */
export type Draft<T> = {
  readonly key: ActKey
  readonly claims: Omit<CredentialClaims, 'status'>
  /** What the caller is told beside the token. */
  readonly answer: T
  readonly salt: Buffer | null
  readonly sessionId: string | null
  readonly charged: boolean
  readonly simulated: boolean
  readonly replaces: string | undefined
  readonly within: (tx: Tx) => Promise<void>
}

/** What the caller gets: the token and what is said beside it. */
export type WithToken<T> = T & { readonly pohf_jwt: string; readonly statusUri?: string }

/** The answer to a repeat: the same bytes, nothing spent. */
export const repeatOf = <T>(stored: Stored): Answer<WithToken<T>> => {
  if (stored.state === 'revoked') throw new Refusal('credential_revoked')
  return new Answer(
    { ...(stored.answer as T), pohf_jwt: stored.jwt },
    { headers: { 'idempotent-replayed': 'true' } },
  )
}

type Signed = { readonly jwt: string; readonly place: StatusPlace }

const record = async <T extends object>(
  deps: Deps,
  draft: Draft<T>,
  { jwt, place }: Signed,
): Promise<Answer<WithToken<T>>> =>
  inTransaction(deps.ctx, draft.key.agentId as `agt_${string}`, async (tx) => {
    const { key, claims } = draft
    const answer = { ...draft.answer, statusUri: place.uri }
    const at = new Date(claims.iat * 1_000)
    const credential = {
      credentialId: claims.jti,
      kind: claims.kind,
      at,
      expiresAt: new Date(claims.exp * 1_000),
      jwt,
      answer,
      salt: draft.salt,
      place,
      replaces: draft.replaces,
    }
    if (!(await insertClaim(tx, key, credential))) {
      const first = await findStored(tx, key)
      if (!first) throw new Error('a claimed act has no credential')
      return repeatOf<T>(first)
    }
    if (draft.charged)
      await deps.credits.spendOne(tx, { agentId: key.agentId, mode: key.mode, reference: claims.jti })
    await insertCredential(tx, key, credential)
    await draft.within(tx)
    const data = {
      credentialId: claims.jti,
      kind: claims.kind,
      quality: claims.quality ?? null,
      sessionId: draft.sessionId,
    }
    await publish(tx, {
      agentId: key.agentId,
      mode: key.mode,
      type: 'credential.issued',
      subject: claims.jti,
      data,
    })
    return new Answer(
      { ...answer, pohf_jwt: jwt },
      draft.simulated ? { headers: { 'x-sandbox': 'simulated' } } : {},
    )
  })

/** Checks, signs outside any transaction, then records and charges in one. What is not recorded never leaves. */
export const mint = async <T extends object>(deps: Deps, draft: Draft<T>): Promise<Answer<WithToken<T>>> => {
  const place = await deps.statusIndexes.next(draft.key.mode)
  const status = { status_list: { idx: place.idx, uri: place.uri } }
  const [jwt] = await deps.signer.sign([lint({ ...draft.claims, status })])
  if (jwt === undefined) throw new Error('the signer gave no signature')
  return record(deps, draft, { jwt, place })
}
