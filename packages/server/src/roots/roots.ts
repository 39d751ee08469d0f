import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { readClientAddress, type ClientAddress } from '../platform/http/client-address.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeNoteAddress, type NoteAddress } from './addresses.ts'
import { makeFindDayKey, type FindDayKey } from './keys.ts'
import { readNetworks, type FindFactor } from './networks.ts'
import {
  browserPlace,
  budgetsOf,
  dayOf,
  humanCounters,
  isRaised,
  modelCounters,
  networkCounters,
  networkTagsOf,
  refOf,
  reservationMs,
  shownBudgetOf,
  shownTagOf,
  unknownCounter,
  type Counter,
  type HumanLimit,
  type NetworkTags,
  type RootCharge,
  type ShownRoot,
} from './rules.ts'
import {
  copySessionNetworks,
  hasSuspension,
  hasReservation,
  insertReservation,
  listSessionNetworks,
  moveReservation,
  claimPlace,
  type LookupResult,
  type SessionNetworks,
} from './store.ts'

/** The session that an act rests on: when it began, or a time up to a day later. */
export type SessionRef = { readonly sessionId: string; readonly at: Date }

/** A credential that is to be minted. */
type RootRequest = {
  readonly agentId: string
  readonly mode: Mode
  /** Undefined where no page of ours saw the person. */
  readonly session: SessionRef | undefined
  /** What was shown besides the network, the strongest first. */
  readonly roots: readonly ShownRoot[]
  /** The agent's limit of acts for each human; undefined where it has none. */
  readonly limit?: HumanLimit | undefined
}

/** Whether the places of a credential are held, and until when; or when a budget that is used up opens. */
type Reservation =
  | { readonly type: 'held'; readonly until: Date }
  | { readonly type: 'busy'; readonly opensAt: Date }
  | { readonly type: 'suspended' }

/** Counts what credentials spend. Where ROOT_BUDGETS is off, nothing is noted and nothing is counted. */
export type Roots = {
  /** Notes the address from which a page of a session calls. Refuses a session that comes from too many. */
  readonly noteAddress: NoteAddress
  /** Takes a place for a returning browser of the network of this address, for today; false where none is left. */
  readonly admitBrowser: (tx: Tx, address: ClientAddress, now: Date) => Promise<boolean>
  /**
   * What each credential spends, in the order of the requests: pass it to `credentials_mint`. Null for a test credential. `at`
   * is the time of the credential.
   */
  readonly listCharges: (tx: Tx, requests: readonly RootRequest[], at: Date) => Promise<(RootCharge | null)[]>
  /** Holds the places that the credential of a session will spend, for 15 minutes. A second call changes nothing. */
  readonly reserve: (tx: Tx, request: RootRequest, at: Date) => Promise<Reservation>
  /** Whether a session holds places. */
  readonly isHeld: (tx: Tx, sessionId: string) => Promise<boolean>
  /** Gives a session the networks of the one that it was made from. */
  readonly inherit: (tx: Tx, from: SessionRef, to: SessionRef) => Promise<void>
  /** The same for a session that replaces the other one, which is then never minted. It gets the reservation too. */
  readonly replace: (tx: Tx, from: SessionRef, to: SessionRef) => Promise<void>
}

type RootsDeps = { readonly ctx: Ctx; readonly findDayKey: FindDayKey; readonly findFactor: FindFactor }
type DayNetworks = { readonly tags: readonly NetworkTags[]; readonly old: boolean }

/**
 * The tags whose budgets a session spends on this day: those of its addresses, or, once the key of their day is destroyed,
 * tags of its own.
 */
const findTags = async (
  tx: Tx,
  { findDayKey, findFactor }: RootsDeps,
  networks: SessionNetworks,
  day: string,
): Promise<DayNetworks> => {
  if (networks.keyDay === day) return { tags: networks.tags, old: false }
  const sealedWith = await findDayKey(tx, networks.keyDay, day)
  const key = sealedWith && (await findDayKey(tx, day, day))
  if (!key) return { tags: networks.tags, old: true }
  const addresses = sealedWith.openAddresses(networks.sealed)
  return {
    tags: addresses.map(readClientAddress).map((one) => networkTagsOf(key.tagKey, one, findFactor(one))),
    old: false,
  }
}

const requireDayKey = async (tx: Tx, findDayKey: FindDayKey, today: string): Promise<Buffer> => {
  const key = await findDayKey(tx, today, today)
  if (!key) throw new Refusal('overloaded', { headers: { 'retry-after': '3600' } })
  return key.tagKey
}

/** The counters of the keys of roots; none of one that names no key. An authenticator also has those of its model. */
const shownCounters = async (
  tx: Tx,
  { ctx, findDayKey }: RootsDeps,
  { roots, seen }: { readonly roots: readonly ShownRoot[]; readonly seen: DayNetworks | undefined },
  today: string,
): Promise<Counter[]> => {
  if (roots.every(({ key }) => key === undefined)) return []
  const tagKey = await requireDayKey(tx, findDayKey, today)
  return roots.flatMap((root): Counter[] => {
    if (root.key === undefined) return []
    const tag = shownTagOf(tagKey, root, root.key)
    const day = shownBudgetOf(ctx.config, root.kind)
    return [
      { tag, hour: null, day, agentHour: null, agentDay: null, strong: true },
      ...(root.kind === 'authenticator' && seen
        ? modelCounters(seen.tags, root, { perDay: day, old: seen.old })
        : []),
    ]
  })
}

/** The counters of the agent's limit for each human; none without a limit or a root that counts humans. */
const limitCounters = async (
  tx: Tx,
  findDayKey: FindDayKey,
  { agentId, roots, limit }: RootRequest,
  today: string,
): Promise<Counter[]> =>
  limit === undefined || !roots.some(({ counted }) => counted)
    ? []
    : humanCounters(await requireDayKey(tx, findDayKey, today), roots, { agentId, limit })

type SpentOnDay = { readonly seen: DayNetworks | undefined; readonly counters: Counter[] }

/** The counters that a credential spends if it is minted on this day. */
const findSpent = async (
  tx: Tx,
  deps: RootsDeps,
  { agentId, roots, found }: RootRequest & { readonly found: LookupResult | undefined },
  day: string,
): Promise<SpentOnDay> => {
  const budgets = budgetsOf(deps.ctx.config)
  const { networks, siteFactor } = found ?? {}
  const seen = networks && (await findTags(tx, deps, networks, day))
  const site = siteFactor === undefined ? undefined : { agentId, factor: siteFactor }
  const scale = { site, strong: isRaised(roots), old: seen?.old ?? false }
  return {
    seen,
    counters: [
      ...(seen ? networkCounters(seen.tags, budgets, scale) : [unknownCounter(agentId, budgets)]),
      ...(await shownCounters(tx, deps, { roots, seen }, day)),
    ],
  }
}

/** What is recorded of the roots of a credential; nothing for one that names its network alone. */
const rootsOf = (roots: readonly ShownRoot[]): Pick<RootCharge, 'roots' | 'ref'> =>
  roots.length === 0
    ? {}
    : { roots: roots.map(({ kind, name, at }) => ({ kind, name, at })), ref: refOf(roots) }

const lookupOf = ({ agentId, session }: RootRequest, at: Date) => ({
  agentId,
  sessionId: session?.sessionId ?? null,
  day: dayOf(session?.at ?? at),
})

const makeListCharges =
  (deps: RootsDeps): Roots['listCharges'] =>
  async (tx, requests, at) => {
    const live = requests.filter(({ mode }) => mode === 'live')
    if (live.length === 0) return requests.map(() => null)
    const lookups = live.map((request) => lookupOf(request, at))
    const found = await listSessionNetworks(tx, lookups)
    const charges = new Map<RootRequest, RootCharge>()
    for (const [index, request] of live.entries()) {
      const { session, roots } = request
      const { seen, counters } = await findSpent(tx, deps, { ...request, found: found[index] }, dayOf(at))
      charges.set(request, {
        session: session?.sessionId ?? null,
        counters: [...counters, ...(await limitCounters(tx, deps.findDayKey, request, dayOf(at)))],
        networks: seen && !seen.old ? seen.tags.map(({ wide, narrow }) => [wide, narrow] as const) : [],
        ...rootsOf(roots),
      })
    }
    return requests.map((request) => charges.get(request) ?? null)
  }

/** A reservation where nothing is counted: it is always held. */
const heldUncounted = (at: Date): Reservation => ({
  type: 'held',
  until: new Date(at.getTime() + reservationMs),
})

const makeReserve =
  (deps: RootsDeps): Roots['reserve'] =>
  async (tx, request, at) => {
    const { agentId, mode, session, roots } = request
    if (mode === 'test' || !session) return heldUncounted(at)
    if (await hasSuspension(tx, roots)) return { type: 'suspended' }
    const [found] = await listSessionNetworks(tx, [lookupOf(request, at)])
    const until = new Date(at.getTime() + reservationMs)
    const days: { day: string; counters: Counter[] }[] = []
    // As the mint of each day computes it.
    for (const day of new Set([dayOf(at), dayOf(until)]))
      days.push({ day, counters: (await findSpent(tx, deps, { ...request, found }, day)).counters })
    const root = refOf(roots)
    const { heldUntil, opensAt } = await insertReservation(tx, {
      sessionId: session.sessionId,
      root,
      agentId,
      from: at,
      until,
      days,
    })
    return heldUntil ? { type: 'held', until: heldUntil } : { type: 'busy', opensAt: opensAt ?? until }
  }

const makeAdmitBrowser =
  ({ findDayKey, findFactor }: RootsDeps): Roots['admitBrowser'] =>
  async (tx, address, now) => {
    const today = dayOf(now)
    const key = await findDayKey(tx, today, today)
    if (!key) return false
    const tags = networkTagsOf(key.tagKey, address, findFactor(address))
    return claimPlace(tx, now, browserPlace(tags))
  }

const inherit: Roots['inherit'] = (tx, from, to) =>
  copySessionNetworks(
    tx,
    { sessionId: from.sessionId, day: dayOf(from.at) },
    { sessionId: to.sessionId, day: dayOf(to.at) },
  )

/**
 * Where budgets are off (ROOT_BUDGETS=off, or auto on a loopback address): nothing is counted but the limits that agents set for
 * each human. Roots are still recorded, so that credentials can be found by them, and none is minted on a suspended one.
 */
const makeOff = (findDayKey: FindDayKey): Roots => ({
  noteAddress: async () => undefined,
  admitBrowser: async () => true,
  listCharges: async (tx, requests, at) => {
    const charges: (RootCharge | null)[] = []
    for (const request of requests) {
      const { mode, roots } = request
      const counters = mode === 'live' ? await limitCounters(tx, findDayKey, request, dayOf(at)) : []
      charges.push(
        mode === 'live' && roots.length > 0
          ? { session: null, counters, networks: [], ...rootsOf(roots) }
          : null,
      )
    }
    return charges
  },
  reserve: async (tx, { mode, roots }, at) =>
    mode === 'live' && (await hasSuspension(tx, roots)) ? { type: 'suspended' } : heldUncounted(at),
  isHeld: async () => false,
  inherit: async () => undefined,
  replace: async () => undefined,
})

/** Builds the counting of a process. Reads NETWORKS_FILE. */
export const makeRoots = (ctx: Ctx): Roots => {
  const findFactor = readNetworks(ctx.config.NETWORKS_FILE)
  const findDayKey = makeFindDayKey(ctx.secrets)
  if (!ctx.config.rootBudgets) return makeOff(findDayKey)
  const deps = { ctx, findDayKey, findFactor }
  return {
    noteAddress: makeNoteAddress(findDayKey, findFactor),
    admitBrowser: makeAdmitBrowser(deps),
    listCharges: makeListCharges(deps),
    reserve: makeReserve(deps),
    isHeld: hasReservation,
    inherit,
    replace: async (tx, from, to) => {
      await inherit(tx, from, to)
      await moveReservation(tx, from.sessionId, to.sessionId)
    },
  }
}
