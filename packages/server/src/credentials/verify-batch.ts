import { makeCoalescer, runBisected, type Outcome } from '../platform/queue/coalesce.ts'
import { inStatement, inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findSessions, type Session } from '../sessions/index.ts'
import {
  insufficientCredits,
  refusalOf,
  repeatOf,
  signDrafts,
  type Deps,
  type Draft,
  type Signed,
} from './mint/mint.ts'
import { sessionStandings, type SessionStanding } from './mint/assurance-inputs.ts'
import { insertMinted, listStored, type ActKey, type Stored } from './store.ts'
import {
  draftOf,
  requireChallenge,
  requireVerified,
  withViewToken,
  type Answered,
  type Asked,
  type Verified,
} from './verify.ts'

/** Two keep the database busy while this process signs; a third would only wait for the locks of the others. */
const inFlightMax = 2
const batchMax = 128
const waitingMax = 10_000
/** Whoever is told that nothing is left to pay with is looked at twice: the month, or a purchase, may have come between. */
const looksMax = 2

const busy = () => new Refusal('overloaded', { headers: { 'retry-after': '1' } })

const keyOf = ({ agent, input }: Asked): ActKey => ({
  agentId: agent.agentId,
  mode: agent.mode,
  act: 'session',
  reference: input.sessionId,
})

type Seen = {
  readonly asked: Asked
  readonly stored: Stored | undefined
  readonly session: Session | undefined
  readonly standing: SessionStanding | undefined
}
type Result = Outcome<Verified>

/** Turns what is thrown into the outcome of this one call. */
const outcomeOf = (work: () => Verified): Result => {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

/** Everything that is known of the batch before anything is decided: three statements, whatever its size. */
const look = async (deps: Deps, batch: readonly Asked[]) => {
  const keys = batch.map(keyOf)
  const liveAgents = [
    ...new Set(batch.flatMap(({ agent }) => (agent.mode === 'live' ? [agent.agentId] : []))),
  ]
  // No single tenant: the batch mixes agents. Each row is found by its own agent, mode and id, and by its place.
  return inTransaction(deps.ctx, 'system', async (tx) => {
    const stored = await listStored(tx, keys)
    const sessions = await findSessions(
      tx,
      keys.map(({ agentId, mode, reference }) => ({ agentId, mode, sessionId: reference })),
    )
    const acts = batch.flatMap(({ agent }, index) => {
      const session = sessions[index]
      return session ? [{ agent, session }] : []
    })
    const standings = new Map(
      (await sessionStandings(tx, acts)).map((standing, index) => [acts[index]?.session, standing]),
    )
    return {
      at: await readNow(tx),
      seen: batch.map((asked, index): Seen => {
        const session = sessions[index]
        return { asked, stored: stored[index], session, standing: session && standings.get(session) }
      }),
      allowances: liveAgents.length === 0 ? undefined : await deps.credits.seeAllowances(tx, liveAgents),
    }
  })
}
type Looked = Awaited<ReturnType<typeof look>>

/** How many each live agent of the batch can pay for, or why it may not; asked of those alone who want to mint. */
const countSpendable = async (
  deps: Deps,
  looked: Looked,
  wanting: readonly Seen[],
): Promise<ReadonlyMap<string, bigint | Refusal>> => {
  const counts = new Map<string, bigint | Refusal>()
  for (const { agent } of wanting.map(({ asked }) => asked)) {
    const allowance = looked.allowances?.get(agent.agentId)
    if (agent.mode === 'test' || counts.has(agent.agentId) || !allowance) continue
    const count = await deps.credits.countSpendable(agent.agentId, allowance).catch((error: unknown) => {
      if (error instanceof Refusal) return error
      throw error
    })
    counts.set(agent.agentId, count)
  }
  return counts
}

/** A repeat gets the bytes of the first call, whatever its balance. */
const repeat = (deps: Deps, { asked, session }: Omit<Seen, 'stored'>, stored: Stored): Verified => {
  if (session) requireChallenge(session, asked.input.challenge)
  return withViewToken(
    deps,
    asked.agent,
    session ?? { sessionId: asked.input.sessionId, at: stored.mintedAt },
    repeatOf<Answered>(stored),
  )
}

type Wanted = { readonly seen: Seen; readonly session: Session; readonly draft: Draft<Answered> }

const wantedOf = (deps: Deps, seen: Seen, at: Date): Wanted => {
  const { asked, stored } = seen
  const session = requireVerified(seen.session)
  requireChallenge(session, asked.input.challenge)
  if (!seen.standing) throw new Error('a session without what stands behind it')
  return {
    seen,
    session,
    draft: {
      key: keyOf(asked),
      ...draftOf(deps, { agent: asked.agent, session, standing: seen.standing, at }),
      sessionId: session.sessionId,
      charged: true,
      replaces: stored?.credentialId,
    },
  }
}

const nameOf = ({ agent, input }: Asked): string => `${agent.agentId} ${agent.mode} ${input.sessionId}`

/**
 * Decides everything that can be decided before anything is signed: repeats, who cannot pay, which sessions show no
 * human. What is left is signed: at most as many for an agent as it can pay for, and one for each act.
 */
const sort = async (deps: Deps, looked: Looked) => {
  const isRepeat = ({ stored }: Seen) => stored && (!stored.expired || stored.state === 'revoked')
  const counts = await countSpendable(
    deps,
    looked,
    looked.seen.filter((seen) => !isRepeat(seen)),
  )
  const used = new Map<string, bigint>()
  const wanted = new Map<string, Wanted>()
  const settled = new Map<Seen, Result>()
  const decide = (seen: Seen): Verified | undefined => {
    const { asked, stored } = seen
    if (stored && isRepeat(seen)) return repeat(deps, seen, stored)
    const count = counts.get(asked.agent.agentId) ?? BigInt(batchMax)
    if (count instanceof Refusal) throw count
    if (count === 0n) throw insufficientCredits(deps.ctx)
    const want = wantedOf(deps, seen, looked.at)
    // The same act twice in one batch: the second waits for what becomes of the first.
    if (wanted.has(nameOf(asked))) return undefined
    const before = used.get(asked.agent.agentId) ?? 0n
    if (before >= count) throw insufficientCredits(deps.ctx)
    used.set(asked.agent.agentId, before + 1n)
    wanted.set(nameOf(asked), want)
    return undefined
  }
  for (const seen of looked.seen) {
    try {
      const answer = decide(seen)
      if (answer) settled.set(seen, { value: answer })
    } catch (error) {
      settled.set(seen, { error })
    }
  }
  return { wanted, settled }
}

type Minted = {
  readonly signed: Signed<Answered>
  readonly outcome: Awaited<ReturnType<typeof insertMinted>>[number]
}

/** Signs and writes; says by the name of each act what became of it. */
const mintAll = async (
  deps: Deps,
  wanted: ReadonlyMap<string, Wanted>,
): Promise<ReadonlyMap<string, Minted>> => {
  if (wanted.size === 0) return new Map()
  const names = [...wanted.keys()]
  const signed = await signDrafts(
    deps,
    [...wanted.values()].map(({ draft }) => draft),
  )
  const outcomes = await inStatement(deps.ctx, (tx) =>
    insertMinted(
      tx,
      signed.map(({ row }) => row),
    ),
  )
  return new Map(
    signed.flatMap((each, index): [string, Minted][] => {
      const name = names[index]
      const outcome = outcomes[index]
      if (name === undefined || outcome === undefined) throw new Error('the mint gave no answer for a row')
      return [[name, { signed: each, outcome }]]
    }),
  )
}

/** What is said to a call that is to be looked at again, if there is no further look. */
type Again = { readonly again: Refusal }

/** One pass over a batch. */
const pass = async (deps: Deps, batch: readonly Asked[]): Promise<(Result | Again)[]> => {
  const looked = await look(deps, batch)
  const { wanted, settled } = await sort(deps, looked)
  const minted = await mintAll(deps, wanted)
  const first = new Set<string>()
  return looked.seen.map((seen) => {
    const known = settled.get(seen)
    if (known) return known
    const name = nameOf(seen.asked)
    const made = minted.get(name)
    const session = wanted.get(name)?.session
    if (!made || !session) throw new Error('a call was forgotten')
    // Another batch minted it, or this one did for an earlier call: the next look finds it stored.
    if (made.outcome === 'lost' || first.has(name)) return { again: busy() }
    if (made.outcome === 'short') return { again: refusalOf(deps.ctx, 'short') }
    if (made.outcome !== 'granted') return { error: refusalOf(deps.ctx, made.outcome) }
    first.add(name)
    return outcomeOf(() => withViewToken(deps, seen.asked.agent, session, made.signed.answer))
  })
}

const run = async (deps: Deps, batch: readonly Asked[]): Promise<readonly Result[]> => {
  const results = await pass(deps, batch)
  for (let looks = 1; looks < looksMax; looks++) {
    const open = results.flatMap((result, index) => ('again' in result ? [index] : []))
    if (open.length === 0) break
    const again = await pass(
      deps,
      open.flatMap((index) => batch[index] ?? []),
    )
    for (const [place, index] of open.entries()) results[index] = again[place] ?? { again: busy() }
  }
  return results.map((result) => ('again' in result ? { error: result.again } : result))
}

/** No row is at fault where the database or the signer is away. */
const isNobodysFault = (error: unknown): boolean => error instanceof Refusal

/** Brings the calls of verify together: one look, one call to the signer and one statement for many. */
export const makeVerifyQueue = (deps: Deps): ((asked: Asked) => Promise<Verified>) =>
  makeCoalescer<Asked, Verified>({
    run: (batch) => runBisected(batch, (part) => run(deps, part), isNobodysFault),
    batchMax,
    inFlightMax,
    waitingMax,
    full: busy,
  })
