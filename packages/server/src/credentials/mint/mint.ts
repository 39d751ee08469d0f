import type { CredentialClaims, Mode } from '@pohf/protocol'
import type { Credits } from '../../credits/index.ts'
import { Answer, type Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { lint, type Signer } from '../../signing/index.ts'
import type { StatusIndexes, StatusPlace } from '../status/indexes.ts'
import {
  findStored,
  insertMinted,
  type ActKey,
  type MintOutcome,
  type MintRow,
  type Stored,
} from '../store.ts'

/** `quality`: how attentive whoever did the work was, where that was measured. */
type WorkRef = { readonly humanRef: string | null; readonly paid: boolean; readonly quality?: number }
export type Deps = {
  readonly ctx: Ctx
  readonly signer: Signer
  readonly statusIndexes: StatusIndexes
  readonly credits: Pick<Credits, 'hasAllowance' | 'seeAllowances' | 'countSpendable'>
  /** Work sits above this module, so app.ts hands its look-up down. */
  readonly findWorkRef: (
    tx: Tx,
    ref: { readonly agentId: string; readonly mode: Mode; readonly ref: string },
  ) => Promise<WorkRef | undefined>
}

export const insufficientCredits = (ctx: Pick<Ctx, 'config'>): Refusal =>
  new Refusal('insufficient_credits', { buy: `${ctx.config.BASE_URL}/buy` })

/** Refuses a caller who cannot pay, before it learns anything about sessions or members. */
export const requireAllowance = async (tx: Tx, deps: Deps, agent: Agent): Promise<void> => {
  if (await deps.credits.hasAllowance(tx, agent)) return
  throw insufficientCredits(deps.ctx)
}

/** A credential that is ready to be signed. */
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

/** A signed credential that nobody has been given yet: the row to be written, and the answer if it is. */
export type Signed<T> = { readonly row: MintRow; readonly answer: Answer<WithToken<T>> }

const signedOf = <T extends object>(
  ctx: Ctx,
  draft: Draft<T>,
  place: StatusPlace,
  jwt: string,
): Signed<T> => {
  const { key, claims } = draft
  const answer = { ...draft.answer, statusUri: place.uri }
  return {
    row: {
      key,
      replaces: draft.replaces,
      charged: draft.charged,
      credentialId: claims.jti,
      kind: claims.kind,
      at: new Date(claims.iat * 1_000),
      expiresAt: new Date(claims.exp * 1_000),
      jwt,
      answer,
      salt: draft.salt,
      place,
      // Only the session's own credential seals it; a binding names it and leaves it as it is.
      seals: key.act === 'session' ? draft.sessionId : null,
      event: {
        credentialId: claims.jti,
        kind: claims.kind,
        quality: claims.quality ?? null,
        sessionId: draft.sessionId,
      },
      ids: { entry: ctx.ids.make('ent_'), event: ctx.ids.make('evt_'), notice: ctx.ids.make('evt_') },
    },
    answer: new Answer(
      { ...answer, pohf_jwt: jwt },
      draft.simulated ? { headers: { 'x-sandbox': 'simulated' } } : {},
    ),
  }
}

/** Checks and signs, outside any transaction: one call to the signer for the whole batch. */
export const signDrafts = async <T extends object>(
  deps: Pick<Deps, 'ctx' | 'signer' | 'statusIndexes'>,
  drafts: readonly Draft<T>[],
): Promise<Signed<T>[]> => {
  const placed: { draft: Draft<T>; place: StatusPlace }[] = []
  for (const draft of drafts) placed.push({ draft, place: await deps.statusIndexes.next(draft.key.mode) })
  const jwts = await deps.signer.sign(
    placed.map(({ draft, place }) =>
      lint({ ...draft.claims, status: { status_list: { idx: place.idx, uri: place.uri } } }),
    ),
  )
  return placed.map(({ draft, place }, index) => {
    const jwt = jwts[index]
    if (jwt === undefined) throw new Error('the signer gave no signature')
    return signedOf(deps.ctx, draft, place, jwt)
  })
}

/** Why the database did not grant a mint; `lost` is no refusal, for the act has its credential. */
export const refusalOf = (ctx: Ctx, outcome: Exclude<MintOutcome, 'granted' | 'lost'>): Refusal => {
  if (outcome === 'short') return insufficientCredits(ctx)
  if (outcome === 'owes') return new Refusal('account_in_debt')
  return new Refusal('overloaded', {
    message: 'Minting is paused for this agent until its books have been checked. Nothing was spent.',
    headers: { 'retry-after': '60' },
  })
}

/**
 * Signs, then writes and charges in one transaction, with what else belongs to it. What is not written never leaves.
 * The one row goes the same way as the rows of a batch.
 */
export const mint = async <T extends object>(
  deps: Deps,
  draft: Draft<T>,
  within: (tx: Tx) => Promise<void>,
): Promise<Answer<WithToken<T>>> => {
  const [signed] = await signDrafts(deps, [draft])
  if (!signed) throw new Error('nothing was signed')
  return inTransaction(deps.ctx, draft.key.agentId as `agt_${string}`, async (tx) => {
    const [outcome = 'lost'] = await insertMinted(tx, [signed.row])
    if (outcome === 'lost') {
      const first = await findStored(tx, draft.key)
      if (!first) throw new Error('a claimed act has no credential')
      return repeatOf<T>(first)
    }
    if (outcome !== 'granted') throw refusalOf(deps.ctx, outcome)
    await within(tx)
    return signed.answer
  })
}
