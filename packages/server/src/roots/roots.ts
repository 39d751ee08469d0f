import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeNoteAddress, type NoteAddress } from './addresses.ts'
import { makeFindDayKey, type FindDayKey } from './keys.ts'
import { readNetworks, type FindFactor } from './networks.ts'
import {
  budgetsOf,
  dayOf,
  modelCounters,
  networkCounters,
  networkTagsOf,
  reservationMs,
  strongBudgetOf,
  strongTagOf,
  unknownCounter,
  type Counter,
  type NetworkTags,
  type RootCharge,
  type StrongRoot,
} from './rules.ts'
import {
  copySessionNetworks,
  insertReservation,
  listSessionNetworks,
  moveReservation,
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
  /** Undefined for a credential at `low`. */
  readonly strong: StrongRoot | undefined
}

/** Counts what credentials spend. Where ROOT_BUDGETS is off, nothing is noted and nothing is counted. */
export type Roots = {
  /** Notes the address from which a page of a session calls. Refuses a session that comes from too many. */
  readonly noteAddress: NoteAddress
  /**
   * What each credential spends, in the order of the requests: pass it to `credentials_mint`. Null for a test credential. `at`
   * is the time of the credential.
   */
  readonly listCharges: (tx: Tx, requests: readonly RootRequest[], at: Date) => Promise<(RootCharge | null)[]>
  /** Holds the places of a session that passed, for 15 minutes. Without a place, the mint tries again. */
  readonly reserve: (tx: Tx, request: Omit<RootRequest, 'strong'>, at: Date) => Promise<void>
  /** Gives a session the networks of the one that it rests on. */
  readonly inherit: (tx: Tx, from: SessionRef, to: SessionRef) => Promise<void>
  /** The same for a session that takes the place of the other, which is not minted any more: with its reservation. */
  readonly replace: (tx: Tx, from: SessionRef, to: SessionRef) => Promise<void>
}

type RootsDeps = { readonly ctx: Ctx; readonly findDayKey: FindDayKey; readonly findFactor: FindFactor }
type DayNetworks = { readonly tags: readonly NetworkTags[]; readonly old: boolean }

/** The tags that a session spends on in this day: those of its addresses, or after their key is destroyed its own. */
const findTags = async (
  tx: Tx,
  { findDayKey, findFactor }: RootsDeps,
  networks: SessionNetworks,
  { day, today }: { readonly day: string; readonly today: string },
): Promise<DayNetworks> => {
  if (networks.keyDay === day) return { tags: networks.tags, old: false }
  const sealedWith = await findDayKey(tx, networks.keyDay, today)
  const key = sealedWith && (await findDayKey(tx, day, today))
  if (!key) return { tags: networks.tags, old: true }
  const addresses = sealedWith.openAddresses(networks.sealed)
  return { tags: addresses.map((one) => networkTagsOf(key.tagKey, one, findFactor(one))), old: false }
}

/** The counter of the key of a stronger root; none where it names no key. An authenticator also has those of its model. */
const strongCounters = async (
  tx: Tx,
  { ctx, findDayKey }: RootsDeps,
  { strong, seen }: { readonly strong: StrongRoot; readonly seen: DayNetworks | undefined },
  today: string,
): Promise<Counter[]> => {
  if (strong.key === undefined) return []
  const key = await findDayKey(tx, today, today)
  if (!key) throw new Refusal('overloaded', { headers: { 'retry-after': '3600' } })
  const tag = strongTagOf(key.tagKey, strong, strong.key)
  const day = strongBudgetOf(ctx.config, strong.kind)
  return [
    { tag, hour: null, day, agentHour: null, agentDay: null, strong: true },
    ...(strong.kind === 'authenticator' && seen
      ? modelCounters(seen.tags, strong, { perDay: day, old: seen.old })
      : []),
  ]
}

const makeListCharges =
  (deps: RootsDeps): Roots['listCharges'] =>
  async (tx, requests, at) => {
    const live = requests.filter(({ mode }) => mode === 'live')
    if (live.length === 0) return requests.map(() => null)
    const budgets = budgetsOf(deps.ctx.config)
    const today = dayOf(at)
    const found = await listSessionNetworks(
      tx,
      live.map(({ agentId, session }) => ({
        agentId,
        sessionId: session?.sessionId ?? null,
        day: dayOf(session?.at ?? at),
      })),
    )
    const charges = new Map<RootRequest, RootCharge>()
    for (const [index, request] of live.entries()) {
      const { agentId, session, strong } = request
      const { networks, siteFactor } = found[index] ?? {}
      const seen = networks && (await findTags(tx, deps, networks, { day: today, today }))
      const site = siteFactor === undefined ? undefined : { agentId, factor: siteFactor }
      const scale = { site, strong: strong !== undefined, old: seen?.old ?? false }
      charges.set(request, {
        session: session?.sessionId ?? null,
        counters: [
          ...(seen ? networkCounters(seen.tags, budgets, scale) : [unknownCounter(agentId, budgets)]),
          ...(strong ? await strongCounters(tx, deps, { strong, seen }, today) : []),
        ],
        networks: seen && !seen.old ? seen.tags.map(({ wide, narrow }) => [wide, narrow] as const) : [],
        ...(strong ? { root: { kind: strong.kind, name: strong.name } } : {}),
      })
    }
    return requests.map((request) => charges.get(request) ?? null)
  }

const makeReserve =
  (deps: RootsDeps): Roots['reserve'] =>
  async (tx, { agentId, mode, session }, at) => {
    if (mode === 'test' || !session) return
    const [found] = await listSessionNetworks(tx, [
      { agentId, sessionId: session.sessionId, day: dayOf(session.at) },
    ])
    const { networks, siteFactor } = found ?? {}
    if (!networks) return
    const until = new Date(at.getTime() + reservationMs)
    const today = dayOf(at)
    const site = siteFactor === undefined ? undefined : { agentId, factor: siteFactor }
    const days: { day: string; counters: Counter[] }[] = []
    for (const day of new Set([today, dayOf(until)])) {
      const { tags, old } = await findTags(tx, deps, networks, { day, today })
      const scale = { site, strong: false, old }
      days.push({ day, counters: networkCounters(tags, budgetsOf(deps.ctx.config), scale) })
    }
    await insertReservation(tx, { sessionId: session.sessionId, agentId, from: at, until, days })
  }

const inherit: Roots['inherit'] = (tx, from, to) =>
  copySessionNetworks(
    tx,
    { sessionId: from.sessionId, day: dayOf(from.at) },
    { sessionId: to.sessionId, day: dayOf(to.at) },
  )

/** Nothing is counted. The stronger root stays: credentials are found by it, and none rests on a suspended one. */
const off: Roots = {
  noteAddress: async () => undefined,
  listCharges: async (_tx, requests) =>
    requests.map(({ mode, strong }) =>
      mode === 'live' && strong
        ? { session: null, counters: [], networks: [], root: { kind: strong.kind, name: strong.name } }
        : null,
    ),
  reserve: async () => undefined,
  inherit: async () => undefined,
  replace: async () => undefined,
}

/** Builds the counting of a process. Reads NETWORKS_FILE. */
export const makeRoots = (ctx: Ctx): Roots => {
  const findFactor = readNetworks(ctx.config.NETWORKS_FILE)
  if (!ctx.config.rootBudgets) return off
  const findDayKey = makeFindDayKey(ctx.secrets)
  const deps = { ctx, findDayKey, findFactor }
  return {
    noteAddress: makeNoteAddress(findDayKey, findFactor),
    listCharges: makeListCharges(deps),
    reserve: makeReserve(deps),
    inherit,
    replace: async (tx, from, to) => {
      await inherit(tx, from, to)
      await moveReservation(tx, from.sessionId, to.sessionId)
    },
  }
}
