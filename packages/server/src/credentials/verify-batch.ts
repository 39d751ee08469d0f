import { makeCoalescer, runBisected, type Outcome } from '../platform/queue/coalesce.ts'
import { inSingleStatement, inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findSessions, type Session } from '../sessions/index.ts'
import {
  insufficientCredits,
  refusalOf,
  replayAnswer,
  signDrafts,
  type CredentialsDeps,
  type Draft,
  type SignedCredential,
} from './mint/mint.ts'
import { sessionAssuranceInputs, type SessionAssuranceInputs } from './mint/assurance-inputs.ts'
import {
  insertMintedCredentials,
  listMintedCredentials,
  type ActKey,
  type MintedCredential,
} from './store.ts'
import {
  draftSessionCredential,
  requireChallenge,
  requireVerified,
  withViewToken,
  type VerifyAnswer,
  type VerifyRequest,
  type VerifyResponse,
} from './verify.ts'

/** Two batches keep the database busy while this process signs; a third would only wait for their locks. */
const inFlightMax = 2
const batchMax = 128
const waitingMax = 10_000
/** A call that finds no credits is tried twice: a new month or a purchase may have come in between. */
const attemptsMax = 2

const busy = () => new Refusal('overloaded', { headers: { 'retry-after': '1' } })

const keyOf = ({ agent, input }: VerifyRequest): ActKey => ({
  agentId: agent.agentId,
  mode: agent.mode,
  act: 'session',
  reference: input.sessionId,
})

type SessionLookup = {
  readonly request: VerifyRequest
  readonly stored: MintedCredential | undefined
  readonly session: Session | undefined
  readonly assuranceInputs: SessionAssuranceInputs | undefined
}
type Result = Outcome<VerifyResponse>

/** Turns an exception into the outcome of this one call. */
const captureOutcome = (work: () => VerifyResponse): Result => {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

/** Loads everything the decision needs: three statements, whatever the size of the batch. */
const loadBatch = async (deps: CredentialsDeps, batch: readonly VerifyRequest[]) => {
  const keys = batch.map(keyOf)
  const liveAgents = [
    ...new Set(batch.flatMap(({ agent }) => (agent.mode === 'live' ? [agent.agentId] : []))),
  ]
  // No single tenant: the batch mixes agents. Each row is found by its own agent, mode and id.
  return inTransaction(deps.ctx, 'system', async (tx) => {
    const stored = await listMintedCredentials(tx, keys)
    const sessions = await findSessions(
      tx,
      keys.map(({ agentId, mode, reference }) => ({ agentId, mode, sessionId: reference })),
    )
    const agentSessions = batch.flatMap(({ agent }, index) => {
      const session = sessions[index]
      return session ? [{ agent, session }] : []
    })
    const inputsBySession = new Map(
      (await sessionAssuranceInputs(tx, agentSessions)).map((inputs, index) => [
        agentSessions[index]?.session,
        inputs,
      ]),
    )
    return {
      at: await readNow(tx),
      lookups: batch.map((request, index): SessionLookup => {
        const session = sessions[index]
        return {
          request,
          stored: stored[index],
          session,
          assuranceInputs: session && inputsBySession.get(session),
        }
      }),
      allowances:
        liveAgents.length === 0 ? undefined : await deps.credits.readAllowanceSnapshots(tx, liveAgents),
    }
  })
}
type LoadedBatch = Awaited<ReturnType<typeof loadBatch>>

/**
 * How many credentials each live agent of the batch can pay for, or why it may not; only for agents with something
 * to mint.
 */
const countSpendable = async (
  deps: CredentialsDeps,
  loaded: LoadedBatch,
  lookups: readonly SessionLookup[],
): Promise<ReadonlyMap<string, bigint | Refusal>> => {
  const counts = new Map<string, bigint | Refusal>()
  for (const { agent } of lookups.map(({ request }) => request)) {
    const allowance = loaded.allowances?.get(agent.agentId)
    if (agent.mode === 'test' || counts.has(agent.agentId) || !allowance) continue
    const count = await deps.credits.countSpendable(agent.agentId, allowance).catch((error: unknown) => {
      if (error instanceof Refusal) return error
      throw error
    })
    counts.set(agent.agentId, count)
  }
  return counts
}

/** A repeated call gets the bytes of the first, whatever its balance. */
const replayStored = (
  deps: CredentialsDeps,
  { request, session }: Omit<SessionLookup, 'stored'>,
  stored: MintedCredential,
): VerifyResponse => {
  if (session) requireChallenge(session, request.input.challenge)
  return withViewToken(
    deps,
    request.agent,
    session ?? { sessionId: request.input.sessionId, at: stored.mintedAt },
    replayAnswer<VerifyAnswer>(stored),
  )
}

type MintCandidate = {
  readonly lookup: SessionLookup
  readonly session: Session
  readonly draft: Draft<VerifyAnswer>
}

const mintCandidateOf = (deps: CredentialsDeps, lookup: SessionLookup, at: Date): MintCandidate => {
  const { request, stored } = lookup
  const session = requireVerified(lookup.session)
  requireChallenge(session, request.input.challenge)
  if (!lookup.assuranceInputs) throw new Error('assurance inputs of the session not found')
  return {
    lookup,
    session,
    draft: {
      key: keyOf(request),
      ...draftSessionCredential(deps, {
        agent: request.agent,
        session,
        assuranceInputs: lookup.assuranceInputs,
        at,
      }),
      sessionId: session.sessionId,
      charged: true,
      replaces: stored?.credentialId,
    },
  }
}

const actName = ({ agent, input }: VerifyRequest): string =>
  `${agent.agentId} ${agent.mode} ${input.sessionId}`

/**
 * Decides every call that needs no signature: repeats, agents without credits, sessions without a verified human.
 * The rest is signed: for each agent at most as many as it can pay for, and one for each act.
 */
const decideBatch = async (deps: CredentialsDeps, loaded: LoadedBatch) => {
  const isRepeat = ({ stored }: SessionLookup) => stored && (!stored.expired || stored.state === 'revoked')
  const counts = await countSpendable(
    deps,
    loaded,
    loaded.lookups.filter((lookup) => !isRepeat(lookup)),
  )
  const spentByAgent = new Map<string, bigint>()
  const candidates = new Map<string, MintCandidate>()
  const decided = new Map<SessionLookup, Result>()
  const decide = (lookup: SessionLookup): VerifyResponse | undefined => {
    const { request, stored } = lookup
    if (stored && isRepeat(lookup)) return replayStored(deps, lookup, stored)
    const count = counts.get(request.agent.agentId) ?? BigInt(batchMax)
    if (count instanceof Refusal) throw count
    if (count === 0n) throw insufficientCredits(deps.ctx)
    const candidate = mintCandidateOf(deps, lookup, loaded.at)
    // The same act twice in one batch: the second waits for the outcome of the first.
    if (candidates.has(actName(request))) return undefined
    const before = spentByAgent.get(request.agent.agentId) ?? 0n
    if (before >= count) throw insufficientCredits(deps.ctx)
    spentByAgent.set(request.agent.agentId, before + 1n)
    candidates.set(actName(request), candidate)
    return undefined
  }
  for (const lookup of loaded.lookups) {
    try {
      const answer = decide(lookup)
      if (answer) decided.set(lookup, { value: answer })
    } catch (error) {
      decided.set(lookup, { error })
    }
  }
  return { candidates, decided }
}

type MintResult = {
  readonly signed: SignedCredential<VerifyAnswer>
  readonly outcome: Awaited<ReturnType<typeof insertMintedCredentials>>[number]
}

/** Signs and writes; returns the outcome by act. */
const mintAll = async (
  deps: CredentialsDeps,
  candidates: ReadonlyMap<string, MintCandidate>,
): Promise<ReadonlyMap<string, MintResult>> => {
  if (candidates.size === 0) return new Map()
  const names = [...candidates.keys()]
  const signed = await signDrafts(
    deps,
    [...candidates.values()].map(({ draft }) => draft),
  )
  const outcomes = await inSingleStatement(deps.ctx, (tx) =>
    insertMintedCredentials(
      tx,
      signed.map(({ row }) => row),
    ),
  )
  return new Map(
    signed.flatMap((each, index): [string, MintResult][] => {
      const name = names[index]
      const outcome = outcomes[index]
      if (name === undefined || outcome === undefined)
        throw new Error('credentials_mint returned no outcome for a row')
      return [[name, { signed: each, outcome }]]
    }),
  )
}

/** The answer to a call that should be tried again, if no attempt is left. */
type RetryOutcome = { readonly retry: Refusal }

/** One attempt: load, decide, sign, commit, answer. */
const processBatch = async (
  deps: CredentialsDeps,
  batch: readonly VerifyRequest[],
): Promise<(Result | RetryOutcome)[]> => {
  const loaded = await loadBatch(deps, batch)
  const { candidates, decided } = await decideBatch(deps, loaded)
  const minted = await mintAll(deps, candidates)
  const mintedActs = new Set<string>()
  return loaded.lookups.map((lookup) => {
    const decision = decided.get(lookup)
    if (decision) return decision
    const name = actName(lookup.request)
    const result = minted.get(name)
    const session = candidates.get(name)?.session
    if (!result || !session) throw new Error('verify call has neither a decision nor a mint result')
    // Another batch minted it, or this one did for an earlier call: the next attempt finds it stored.
    if (result.outcome === 'lost' || mintedActs.has(name)) return { retry: busy() }
    if (result.outcome === 'short') return { retry: refusalOf(deps.ctx, 'short') }
    if (result.outcome !== 'granted') return { error: refusalOf(deps.ctx, result.outcome) }
    mintedActs.add(name)
    return captureOutcome(() => withViewToken(deps, lookup.request.agent, session, result.signed.answer))
  })
}

const verifyBatch = async (
  deps: CredentialsDeps,
  batch: readonly VerifyRequest[],
): Promise<readonly Result[]> => {
  const results = await processBatch(deps, batch)
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const pending = results.flatMap((result, index) => ('retry' in result ? [index] : []))
    if (pending.length === 0) break
    const retried = await processBatch(
      deps,
      pending.flatMap((index) => batch[index] ?? []),
    )
    for (const [position, index] of pending.entries()) results[index] = retried[position] ?? { retry: busy() }
  }
  return results.map((result) => ('retry' in result ? { error: result.retry } : result))
}

/** No single row is at fault when the database or the signer is unavailable. */
const isUnavailable = (error: unknown): boolean => error instanceof Refusal

/** Coalesces calls of verify: one load, one call to the signer and one statement for many. */
export const makeVerifyQueue = (
  deps: CredentialsDeps,
): ((request: VerifyRequest) => Promise<VerifyResponse>) =>
  makeCoalescer<VerifyRequest, VerifyResponse>({
    run: (batch) => runBisected(batch, (part) => verifyBatch(deps, part), isUnavailable),
    batchMax,
    inFlightMax,
    waitingMax,
    fullError: busy,
  })
