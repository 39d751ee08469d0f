import type { CredentialClaims, ForgingFile, Mode } from '@pohf/protocol'
import type { Credits } from '../../credits/index.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal, type StepUpWay } from '../../platform/http/errors.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { secondsUntilOpen, type RootCharge, type Roots, type SessionRef } from '../../roots/index.ts'
import { actKeyOf, type MintSigner, type SignedBatch, type Signer } from '../../signing/index.ts'
import { insufficientCredits, refuseRevoked } from '../refusals.ts'
import type { StatusIndexes, StatusIndex } from '../status/indexes.ts'
import {
  actName,
  findMintedCredential,
  insertMintedCredential,
  type ActKey,
  type MintOutcome,
  type MintRow,
  type MintedCredential,
} from '../store.ts'

/** `quality`: the measured attention of the human who did the work, where there is a measurement. */
type WorkRef = {
  readonly humanRef: string | null
  readonly paid: boolean
  readonly quality?: number
  /** The session in which the work was done. */
  readonly session?: SessionRef | undefined
}
export type CredentialsDeps = {
  readonly ctx: Ctx
  readonly signer: Signer
  readonly mintSigner: MintSigner
  readonly statusIndexes: StatusIndexes
  readonly roots: Pick<Roots, 'listCharges' | 'isHeld'>
  /** The table by which the forging classes of policies are decided. */
  readonly forging: ForgingFile
  readonly credits: Pick<Credits, 'hasAllowance' | 'readAllowanceSnapshots' | 'countSpendable'>
  /** Injected by the wiring: the account that was paid for a person's work, once a payout to it was completed. */
  readonly findPayoutRoot: (
    tx: Tx,
    personId: string,
  ) => Promise<{ readonly accountHash: Buffer; readonly paidAt: Date } | undefined>
  /** Injected by the wiring, because the work module imports this one. */
  readonly findWorkRef: (
    tx: Tx,
    ref: { readonly agentId: string; readonly mode: Mode; readonly ref: string },
  ) => Promise<WorkRef | undefined>
}

/** A credential that is ready to be signed. */
export type Draft<T> = {
  readonly key: ActKey
  readonly claims: Omit<CredentialClaims, 'status'>
  /** The response body without the token. */
  readonly answer: T
  readonly salt: Buffer | null
  readonly sessionId: string | null
  readonly charged: boolean
  readonly simulated: boolean
  readonly replaces: string | undefined
  /** What it spends besides a credit, at the time of its claims. */
  readonly root: RootCharge | null
  /** Keyed values for the journal that may be used only once, even after a restore: a payment or a photo. */
  readonly once?: readonly string[] | undefined
}

/** The response body with the token. */
export type WithToken<T> = T & { readonly pohf_jwt: string; readonly statusUri?: string }

/** The response to a repeated call: the same bytes, nothing spent. */
export const replayAnswer = <T>(stored: MintedCredential): ApiResponse<WithToken<T>> =>
  new ApiResponse(
    { ...(stored.answer as T), pohf_jwt: stored.jwt },
    { headers: { 'idempotent-replayed': 'true' } },
  )

/** The same for operations that have no list of refusals: refuses a revoked credential. */
export const replayUnrevoked = <T>(stored: MintedCredential): ApiResponse<WithToken<T>> => {
  const refusal = refuseRevoked({ stored })
  if (refusal) throw refusal
  return replayAnswer(stored)
}

/** A signed credential that is not stored yet: the row to write, and the response once it is written. */
export type SignedCredential<T> = { readonly row: MintRow; readonly answer: ApiResponse<WithToken<T>> }

type SignedDraft<T> = {
  readonly draft: Draft<T>
  readonly statusIndex: StatusIndex
  readonly actKey: string
}

const signedCredentialOf = <T extends object>(
  ctx: Ctx,
  { draft, statusIndex, actKey }: SignedDraft<T>,
  batch: SignedBatch,
  jwt: string,
): SignedCredential<T> => {
  const { key, claims } = draft
  const answer = { ...draft.answer, statusUri: statusIndex.uri }
  return {
    row: {
      key,
      actKey,
      batch,
      replaces: draft.replaces,
      charged: draft.charged,
      credentialId: claims.jti,
      kind: claims.kind,
      at: new Date(claims.iat * 1_000),
      expiresAt: new Date(claims.exp * 1_000),
      jwt,
      answer,
      salt: draft.salt,
      statusIndex,
      // Only the session's own credential seals it; a binding refers to it and leaves it unchanged.
      seals: key.act === 'session' || key.act === 'approval' ? draft.sessionId : null,
      event: {
        credentialId: claims.jti,
        kind: claims.kind,
        quality: claims.quality ?? null,
        sessionId: draft.sessionId,
      },
      root: draft.root,
      ids: { entry: ctx.ids.make('ent_'), event: ctx.ids.make('evt_'), notice: ctx.ids.make('evt_') },
    },
    answer: new ApiResponse(
      { ...answer, pohf_jwt: jwt },
      draft.simulated ? { headers: { 'x-sandbox': 'simulated' } } : {},
    ),
  }
}

type SigningDeps = Pick<CredentialsDeps, 'ctx' | 'mintSigner' | 'statusIndexes'>
/** Checks and signs, outside any transaction: one call to the signer for the whole batch. */
export const signDrafts = async <T extends object>(
  deps: SigningDeps,
  drafts: readonly Draft<T>[],
): Promise<SignedCredential<T>[]> => {
  if (drafts.length === 0) return []
  // Before an index is assigned: a database from the past would assign it a second time.
  await deps.mintSigner.ready()
  const signedDrafts: SignedDraft<T>[] = []
  for (const draft of drafts)
    signedDrafts.push({
      draft,
      statusIndex: await deps.statusIndexes.next(draft.key.mode),
      actKey: actKeyOf(deps.ctx, draft.key),
    })
  const batch = await deps.mintSigner.sign(
    signedDrafts.map(({ draft, statusIndex, actKey }) => ({
      // The signer validates them.
      claims: { ...draft.claims, status: { status_list: { idx: statusIndex.idx, uri: statusIndex.uri } } },
      act: { key: actKey, charged: draft.charged, ...(draft.once ? { once: draft.once } : {}) },
    })),
  )
  return signedDrafts.map((signed, index) => {
    const jwt = batch.jwts[index]
    if (jwt === undefined)
      throw new Error(
        `signer returned ${batch.jwts.length} signatures for ${drafts.length} drafts, none for ${actName(signed.draft.key)}`,
      )
    return signedCredentialOf(deps.ctx, signed, batch, jwt)
  })
}

/** The same for one draft. */
export const signDraft = async <T extends object>(
  deps: SigningDeps,
  draft: Draft<T>,
): Promise<SignedCredential<T>> => {
  const [signed] = await signDrafts(deps, [draft])
  if (!signed) throw new Error(`signer returned no credential for ${actName(draft.key)}`)
  return signed
}

type RefusedMint = {
  readonly outcome: Exclude<MintOutcome, 'granted' | 'lost'>
  /** The time of the credential that was not minted. */
  readonly at: Date
  /** The ways to a stronger root, whose budget may be open. */
  readonly stepUp?: readonly StepUpWay[]
}

const networkBusy = (at: Date, period: 'hour' | 'day', stepUp: readonly StepUpWay[]): Refusal => {
  const message = `the budget of this ${period} is used up; a stronger root has a budget of its own`
  return new Refusal('network_busy', {
    headers: { 'retry-after': String(secondsUntilOpen(at, period)) },
    ...(stepUp.length === 0 ? {} : { details: [{ path: 'session', code: 'network_busy', message, stepUp }] }),
  })
}

const limitReached = (at: Date): Refusal =>
  new Refusal('human_limit_reached', {
    headers: { 'retry-after': String(secondsUntilOpen(at, 'day')) },
  })

/** Maps a refused mint to its error; `lost` is not an error, because the act has its credential. */
export const refusalOf = (ctx: Ctx, { outcome, at, stepUp = [] }: RefusedMint): Refusal => {
  if (outcome === 'short') return insufficientCredits(ctx)
  if (outcome === 'owes') return new Refusal('account_in_debt')
  if (outcome === 'forgotten') return new Refusal('credential_lost')
  if (outcome === 'suspended') return new Refusal('root_suspended')
  if (outcome === 'limit') return limitReached(at)
  if (outcome === 'hour' || outcome === 'day') return networkBusy(at, outcome, stepUp)
  return new Refusal('overloaded', {
    message: 'Minting is paused for this agent until an operator has checked its ledger. Nothing was spent.',
    headers: { 'retry-after': '60' },
  })
}

/**
 * Writes and charges a signed credential in the caller's transaction. Returns undefined where it did, and the stored
 * response where the act already has a credential.
 */
export const writeSigned = async <T extends object>(
  tx: Tx,
  ctx: Ctx,
  { row }: SignedCredential<T>,
  stepUp: () => readonly StepUpWay[] = () => [],
): Promise<ApiResponse<WithToken<T>> | undefined> => {
  const outcome = await insertMintedCredential(tx, row)
  if (outcome === 'granted') return undefined
  if (outcome !== 'lost')
    throw refusalOf(ctx, { outcome, at: row.at, stepUp: row.root?.ref === undefined ? stepUp() : [] })
  const first = await findMintedCredential(tx, row.key)
  if (!first)
    throw new Error(
      // Not the act's reference: it may name a member who is erased at this moment.
      `credential ${row.credentialId} of a ${row.key.act} not found: credentials_mint answered lost`,
    )
  return replayUnrevoked<T>(first)
}

/**
 * Signs, then writes and charges in one transaction together with `within`. A credential that was not written is
 * never returned. A single row takes the same path as the rows of a batch.
 */
export const mint = async <T extends object>(
  deps: CredentialsDeps,
  draft: Draft<T>,
  within: (tx: Tx) => Promise<void>,
): Promise<ApiResponse<WithToken<T>>> => {
  const signed = await signDraft(deps, draft)
  return inTransaction(deps.ctx, draft.key.agentId as AgentId, async (tx) => {
    const replayed = await writeSigned(tx, deps.ctx, signed)
    if (replayed) return replayed
    await within(tx)
    return signed.answer
  })
}
