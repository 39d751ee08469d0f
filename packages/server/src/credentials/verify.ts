import type { CallFloor } from '@pohf/protocol'
import { claimRecordings } from '../evidence/index.ts'
import { inSingleStatement, inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Agent, ApiResponse } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { firstRefusal, refusalOrThrow, type Refusals } from '../platform/http/refusals.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { noteOutboxRows, type RequestScope } from '../platform/ops/tracing/request-scope.ts'
import type { Outcome } from '../platform/queue/coalesce.ts'
import type { RootCharge } from '../roots/index.ts'
import { findSessions, type Session } from '../sessions/index.ts'
import { floorOf } from './forging/rules.ts'
import { sessionAssuranceInputs, type SessionAssuranceInputs } from './mint/assurance-inputs.ts'
import { draftSessionCredential, type VerifyAnswer } from './mint/draft-session.ts'
import { withPhotos } from './mint/photos.ts'
import {
  refusalOf,
  replayAnswer,
  signDrafts,
  type CredentialsDeps,
  type Draft,
  type SignedCredential,
  type WithToken,
} from './mint/mint.ts'
import {
  busy,
  insufficientCredits,
  refuseBelowFloor,
  refuseLateMint,
  refuseRevoked,
  refuseSpentRecording,
  sessionRefusals,
  stepUpWaysOf,
} from './refusals.ts'
import {
  claimsOf,
  credentialKindOf,
  limitClaim,
  limitOf,
  mayHaveCredential,
  type VerifyAttempt,
} from './rules.ts'
import {
  actName,
  insertMintedCredentials,
  listMintedCredentials,
  type ActKey,
  type MintedCredential,
  type MintOutcome,
} from './store.ts'
import { withViewToken } from './view-token.ts'

type Input = CallFloor & { readonly sessionId: string; readonly challenge?: string | undefined }

/** One call of verify. */
export type VerifyRequest = { readonly agent: Agent; readonly input: Input }
/** The same in a batch, with the scope of its own request. */
export type QueuedRequest = VerifyRequest & { readonly scope: RequestScope | undefined }
export type VerifyResponse = ApiResponse<WithToken<VerifyAnswer>>

/** The outcome of one attempt. `retry`: the call is tried again, and gets this refusal if no attempt is left. */
export type VerifyOutcome = Outcome<VerifyResponse> | { readonly retry: Refusal }

/**
 * Verifies a batch of calls: spends one credit for each and mints the credential of its session, once. One load, one
 * call to the signer and one statement for the whole batch; `verify-batch.ts` forms the batches and tries again.
 */
export const verifyBatch = async (
  deps: CredentialsDeps,
  requests: readonly QueuedRequest[],
  attempt: VerifyAttempt = 'first',
): Promise<VerifyOutcome[]> => {
  const loaded = await load(deps, requests, attempt)
  const { decisions, mints } = decide(deps, loaded)
  const signed = await sign(deps, mints)
  const written = await commit(deps, mints, signed)
  return decisions.map((decision) => answer(deps, decision, written))
}

// Load

/** A call with everything that its decision needs. */
type LoadedCall = {
  readonly request: QueuedRequest
  readonly key: ActKey
  readonly stored: MintedCredential | undefined
  readonly session: Session | undefined
  /** Whether a micro-task has claimed this recording: the credential is that of the micro-task. */
  readonly isSpent: boolean
  readonly assuranceInputs: SessionAssuranceInputs | undefined
  readonly root: RootCharge | null
  /** How many credentials the agent can pay for, or why it may not; undefined where nothing limits it. */
  readonly spendable: bigint | Refusal | undefined
}
type LoadedBatch = { readonly at: Date; readonly calls: readonly LoadedCall[] }

const keyOf = ({ agent, input }: VerifyRequest): ActKey => ({
  agentId: agent.agentId,
  mode: agent.mode,
  act: 'session',
  reference: input.sessionId,
})

/** A call whose act has a credential. An expired one is minted anew, unless it was revoked or suspended. */
type RepeatedCall = LoadedCall & { readonly stored: MintedCredential }
const isRepeated = <Call extends Pick<LoadedCall, 'stored'>>(
  call: Call,
): call is Call & Pick<RepeatedCall, 'stored'> =>
  call.stored !== undefined && (!call.stored.expired || call.stored.state !== 'issued')

type AgentSession = { readonly agent: Agent; readonly session: Session }

/** Claims the recordings of micro-tasks; returns those that a micro-task has used. */
const claimTaskRecordings = (tx: Tx, agentSessions: readonly AgentSession[]) =>
  claimRecordings(
    tx,
    agentSessions
      .filter(({ session }) => session.kind === 'task' && session.jkt !== null)
      .map(({ agent: { agentId, mode }, session: { sessionId } }) => ({ agentId, mode, sessionId })),
  )

const rootRequestOf = ({ agent, session }: AgentSession, inputs: SessionAssuranceInputs | undefined) => {
  const roots = inputs?.roots ?? []
  const limit = limitOf(agent, credentialKindOf[session.kind], roots)
  return { agentId: agent.agentId, mode: agent.mode, session, roots, limit }
}

/** Credentials, sessions with their assurance inputs, and balances, whatever the size of the batch. */
const load = async (
  deps: CredentialsDeps,
  requests: readonly QueuedRequest[],
  attempt: VerifyAttempt,
): Promise<LoadedBatch> => {
  const keys = requests.map(keyOf)
  const liveAgents = [
    ...new Set(requests.flatMap(({ agent }) => (agent.mode === 'live' ? [agent.agentId] : []))),
  ]
  // No single tenant: the batch mixes agents. Each row is found by its own agent, mode and id.
  const { at, lookups, allowances } = await inTransaction(deps.ctx, 'system', async (tx) => {
    const sessions = await findSessions(
      tx,
      keys.map(({ agentId, mode, reference }) => ({ agentId, mode, sessionId: reference })),
    )
    const stored = await listMintedCredentials(
      tx,
      keys.map((key, index) => (mayHaveCredential(sessions[index], attempt) ? key : undefined)),
    )
    const agentSessions = requests.flatMap(({ agent }, index) => {
      const session = sessions[index]
      return session ? [{ agent, session }] : []
    })
    const inputs = await sessionAssuranceInputs(tx, agentSessions)
    const spent = await claimTaskRecordings(tx, agentSessions)
    const inputsBySession = new Map(agentSessions.map(({ session }, index) => [session, inputs[index]]))
    const at = await readNow(tx)
    const requested = agentSessions.map((one, index) => rootRequestOf(one, inputs[index]))
    const charges = await deps.roots.listCharges(tx, requested, at)
    const chargeBySession = new Map(requested.map(({ session }, index) => [session, charges[index]]))
    return {
      at,
      lookups: requests.map((request, index) => {
        const session = sessions[index]
        return {
          request,
          key: keyOf(request),
          stored: stored[index],
          session,
          isSpent: spent.has(request.input.sessionId),
          assuranceInputs: session && inputsBySession.get(session),
          root: (session && chargeBySession.get(session)) ?? null,
        }
      }),
      allowances:
        liveAgents.length === 0 ? undefined : await deps.credits.readAllowanceSnapshots(tx, liveAgents, at),
    }
  })
  const unanswered = lookups.filter((lookup) => !isRepeated(lookup))
  const spendable = await countSpendable(deps, allowances, unanswered)
  return {
    at,
    calls: lookups.map((lookup) => ({ ...lookup, spendable: spendable.get(lookup.key.agentId) })),
  }
}

type Allowances = Awaited<ReturnType<CredentialsDeps['credits']['readAllowanceSnapshots']>>

/** What each live agent can pay for. A repeat is not counted: it costs nothing, and claims no free plan. */
const countSpendable = async (
  deps: CredentialsDeps,
  allowances: Allowances | undefined,
  calls: readonly Pick<LoadedCall, 'request'>[],
): Promise<ReadonlyMap<string, bigint | Refusal>> => {
  const counts = new Map<string, bigint | Refusal>()
  for (const { agent } of calls.map(({ request }) => request)) {
    const allowance = allowances?.get(agent.agentId)
    if (agent.mode === 'test' || counts.has(agent.agentId) || !allowance) continue
    counts.set(
      agent.agentId,
      await deps.credits.countSpendable(agent.agentId, allowance).catch(refusalOrThrow),
    )
  }
  return counts
}

// Decide

const refuseOtherChallenge = ({ request, session }: Pick<LoadedCall, 'request' | 'session'>) => {
  const { challenge } = request.input
  if (!session || challenge === undefined || challenge === session.challenge) return undefined
  return new Refusal('validation_failed', {
    details: [
      { path: 'body.challenge', code: 'mismatch', message: 'does not match the challenge of this session' },
    ],
  })
}

/** What decisions need besides the call. The configuration has the addresses where credits are sold and people step up. */
type DecisionContext = Pick<CredentialsDeps, 'forging'> & {
  readonly ctx: Pick<Ctx, 'config' | 'secrets' | 'ids'>
  readonly at: Date
}
/** A call that needs credits. */
type PayingCall = LoadedCall & DecisionContext

const refuseAllowance = ({ spendable }: LoadedCall) => (spendable instanceof Refusal ? spendable : undefined)

const refuseWithoutCredits = ({ spendable, ctx }: PayingCall) =>
  spendable === 0n ? insufficientCredits(ctx) : undefined

const refuseWeakSession = ({ request, session, assuranceInputs, ctx, forging, at }: PayingCall) => {
  if (!session || !assuranceInputs) return undefined
  const kind = credentialKindOf[session.kind]
  const { assurance, roots, claim } = assuranceInputs
  const limit = limitClaim(limitOf(request.agent, kind, roots))
  const strength = { kind, assurance, roots: claim.roots, ...limit }
  const floor = floorOf(request.agent.policy, kind, request.input)
  const stepUp = () => stepUpWaysOf(ctx, request.agent, session, at)
  return refuseBelowFloor('session_rejected', { floor, strength, forging, at, stepUp })
}

/** Refuses a stored credential below the floor: the caller never gets a credential below the floor that it asked for. */
const refuseWeakCredential = ({ request, stored, forging, at }: RepeatedCall & DecisionContext) => {
  const strength = claimsOf(stored.jwt)
  const floor = floorOf(request.agent.policy, strength.kind, request.input)
  return refuseBelowFloor('session_rejected', { floor, strength, forging, at, stepUp: () => [] })
}

/** The refusals of a repeat, in order. If none applies, it gets the stored bytes, whatever the balance. */
export const repeatRefusals: Refusals<RepeatedCall & DecisionContext> = [
  ['challenge_mismatch', refuseOtherChallenge],
  ['credential_revoked', refuseRevoked],
  ['below_policy', refuseWeakCredential],
]

/**
 * The refusals of verify for every other call, in order. Payment comes first: an agent without credits learns nothing about
 * sessions.
 */
export const verifyRefusals: Refusals<PayingCall> = [
  ['allowance_refused', refuseAllowance],
  ['insufficient_credits', refuseWithoutCredits],
  ...sessionRefusals,
  ['session_too_old', refuseLateMint],
  ['session_used', refuseSpentRecording],
  ['challenge_mismatch', refuseOtherChallenge],
  ['below_policy', refuseWeakSession],
]

/** A credential to be signed. Later calls of the batch for the same act share it. */
type Mint = {
  readonly call: LoadedCall
  readonly session: Session
  readonly draft: Draft<VerifyAnswer>
}
type Decision = { readonly call: LoadedCall } & (
  { readonly outcome: Outcome<VerifyResponse> } | { readonly mint: Mint }
)

/** Decides a call alone: a repeat or a refusal; undefined where it needs a signature. */
const decideCall = (
  deps: CredentialsDeps,
  call: LoadedCall,
  at: Date,
): Outcome<VerifyResponse> | undefined => {
  const context = { ctx: deps.ctx, forging: deps.forging, at }
  if (isRepeated(call)) {
    const refusal = firstRefusal(repeatRefusals, { ...call, ...context })
    return refusal ? { error: refusal } : { value: replay(deps, call) }
  }
  const refusal = firstRefusal(verifyRefusals, { ...call, ...context })
  return refusal && { error: refusal }
}

const replay = ({ ctx }: CredentialsDeps, { request, session, stored }: RepeatedCall): VerifyResponse =>
  withViewToken(
    ctx,
    request.agent,
    session ?? { sessionId: request.input.sessionId, at: stored.mintedAt },
    replayAnswer<VerifyAnswer>(stored),
  )

/**
 * Decides the batch. Of the calls that need a signature, one for each act is signed, and for each agent at most as
 * many as it can pay for; a call beyond that gets 402.
 */
const decide = (deps: CredentialsDeps, { at, calls }: LoadedBatch) => {
  const decided = new Map(calls.map((call) => [call, decideCall(deps, call, at)]))
  const payable = selectPayable(calls.filter((call) => decided.get(call) === undefined))
  const mints = payable.map((call) => draftMint(deps, call, at))
  const mintByAct = new Map(mints.map((mint) => [actName(mint.call.key), mint]))
  const decisions = calls.map((call): Decision => {
    const outcome = decided.get(call)
    if (outcome) return { call, outcome }
    const mint = mintByAct.get(actName(call.key))
    return mint ? { call, mint } : { call, outcome: { error: insufficientCredits(deps.ctx) } }
  })
  return { decisions, mints }
}

/** The first call of each act, as many for each agent as it can pay for, in the order of the batch. */
const selectPayable = (calls: readonly LoadedCall[]): LoadedCall[] => {
  const firstOfActs = [...Map.groupBy(calls, ({ key }) => actName(key)).values()].flatMap(
    ([first]) => first ?? [],
  )
  const byAgent = Map.groupBy(firstOfActs, ({ key }) => key.agentId)
  return firstOfActs.filter((call) => {
    const rank = byAgent.get(call.key.agentId)?.indexOf(call) ?? 0
    return typeof call.spendable !== 'bigint' || BigInt(rank) < call.spendable
  })
}

const draftMint = (deps: CredentialsDeps, call: LoadedCall, at: Date): Mint => {
  const { request, key, session, assuranceInputs, root, stored } = call
  if (!session || !assuranceInputs)
    throw new Error(
      `verify expected a session with assurance inputs for ${actName(key)}, found ${session ? 'no assurance inputs' : 'no session'}`,
    )
  const draft = {
    key,
    ...draftSessionCredential(deps, {
      agent: request.agent,
      session,
      assuranceInputs,
      limit: limitOf(request.agent, credentialKindOf[session.kind], assuranceInputs.roots),
      at,
    }),
    sessionId: session.sessionId,
    charged: true,
    root,
    replaces: stored?.credentialId,
  }
  return { call, session, draft }
}

// Sign

/** One call to the signer, outside any transaction; none where nothing is to be signed. */
const sign = async (
  deps: CredentialsDeps,
  mints: readonly Mint[],
): Promise<SignedCredential<VerifyAnswer>[]> => signDrafts(deps, await withPhotos(deps.ctx, mints))

// Commit

type WrittenMint = { readonly signed: SignedCredential<VerifyAnswer>; readonly outcome: MintOutcome }

/** One statement writes and charges, all or nothing. */
const commit = async (
  deps: CredentialsDeps,
  mints: readonly Mint[],
  signed: readonly SignedCredential<VerifyAnswer>[],
): Promise<ReadonlyMap<Mint, WrittenMint>> => {
  if (mints.length === 0) return new Map()
  const rows = signed.map(({ row }) => row)
  const outcomes = await inSingleStatement(deps.ctx, (tx) => insertMintedCredentials(tx, rows))
  const batch = rows[0]?.batch
  if (batch) {
    const discarded = rows.flatMap((row, index) => (outcomes[index] === 'granted' ? [] : [row.credentialId]))
    deps.mintSigner.committed({ signer: batch.signer, batch: batch.batch, discarded })
  }
  return new Map(
    mints.map((mint, index) => {
      const [credential, outcome] = [signed[index], outcomes[index]]
      if (!credential || outcome === undefined)
        throw new Error(`credentials_mint returned no outcome for ${actName(mint.draft.key)}`)
      if (outcome === 'granted') noteOutboxRows(mint.call.request.scope, [credential.row.ids.event])
      return [mint, { signed: credential, outcome }]
    }),
  )
}

// Answer

const answer = (
  deps: CredentialsDeps,
  decision: Decision,
  written: ReadonlyMap<Mint, WrittenMint>,
): VerifyOutcome => {
  if ('outcome' in decision) return decision.outcome
  const { call, mint } = decision
  const result = written.get(mint)
  if (!result) throw new Error(`verify committed no mint for ${actName(call.key)}`)
  const { outcome, signed } = result
  // Another batch minted the act, or this one did for an earlier call: the next attempt finds it stored.
  if (outcome === 'lost' || (outcome === 'granted' && mint.call !== call)) return { retry: busy() }
  // A new month or a purchase may have come in between.
  if (outcome === 'short') return { retry: refusalOf(deps.ctx, { outcome, at: signed.row.at }) }
  if (outcome !== 'granted') {
    const { at, root } = signed.row
    const stepUp = root?.ref === undefined ? stepUpWaysOf(deps.ctx, call.request.agent, mint.session, at) : []
    return { error: refusalOf(deps.ctx, { outcome, at, stepUp }) }
  }
  return { value: withViewToken(deps.ctx, call.request.agent, mint.session, signed.answer) }
}
