import { currentMethod, sortedInputs, type InputsDocument } from '@pohf/verify/vhh'
import type { SettledUnit, SoldWork } from './sources.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'

/** Why settled live work is not an input of the index. */
export type ExclusionReason =
  | 'operator_paid'
  | 'related_party'
  | 'disputed'
  | 'reversed'
  | 'no_price'
  | 'not_measured'
  | 'too_short'
  | 'too_long'

/** Less time than this is no work that a person can do with care. */
const workSecondsMin = 10
/** A longer recording was left open: no workflow is meant to take four hours. */
const workSecondsMax = 4 * 3_600

type UnitMeasurement = {
  readonly seconds: number | null
  readonly worker: string | null
  readonly price: bigint
}
const measureExclusion = ({ seconds, worker, price }: UnitMeasurement): ExclusionReason | undefined => {
  if (price <= 0n) return 'no_price'
  if (seconds === null || worker === null) return 'not_measured'
  if (seconds < workSecondsMin) return 'too_short'
  return seconds > workSecondsMax ? 'too_long' : undefined
}

/** The first reason against a unit of an order; undefined where it is an input. */
export const unitExclusion = (unit: SettledUnit): ExclusionReason | undefined => {
  if (unit.paidByOperator) return 'operator_paid'
  if (unit.flags.length > 0) return 'related_party'
  if (unit.reversed) return 'reversed'
  if (unit.disputed) return 'disputed'
  return measureExclusion({ seconds: unit.seconds, worker: unit.worker, price: unit.usdCents })
}

/** The first reason against a purchase. Whether its buyer and its worker are related is not known. */
export const purchaseExclusion = (
  usdcMicro: bigint,
  work: SoldWork | undefined,
): ExclusionReason | undefined =>
  measureExclusion({ seconds: work?.seconds ?? null, worker: work?.worker ?? null, price: usdcMicro })

/** Work of one worker for one buyer, in one category. */
export type WorkGroup = {
  /** The name of a node: `agent:…` or `wallet:…`. */
  readonly buyer: string
  readonly worker: string
  readonly category: string | null
  readonly units: number
  readonly seconds: number
  readonly usdMicro: bigint
}

/** Joins work of the same buyer, worker and category. */
export const makeGroups = () => {
  const groups = new Map<string, WorkGroup>()
  return {
    add: (work: Omit<WorkGroup, 'units'>): void => {
      const key = JSON.stringify([work.buyer, work.worker, work.category])
      const known = groups.get(key)
      groups.set(key, {
        ...work,
        units: (known?.units ?? 0) + 1,
        seconds: (known?.seconds ?? 0) + work.seconds,
        usdMicro: (known?.usdMicro ?? 0n) + work.usdMicro,
      })
    },
    list: (): WorkGroup[] => [...groups.values()],
  }
}

/** Two nodes that the same money may be behind. */
export type Link = readonly [one: string, other: string]

/** The cluster of each node, by its first node in the order of their names. */
export const clustersOf = (links: readonly Link[]): ((node: string) => string) => {
  const parents = new Map<string, string>()
  const rootOf = (node: string): string => {
    let root = node
    for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up
    // Union-find with path compression.
    for (let at = node; at !== root;) {
      const up = parents.get(at) ?? root
      parents.set(at, root)
      at = up
    }
    return root
  }
  for (const [one, other] of links) {
    const [first, second] = [rootOf(one), rootOf(other)].toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    if (first !== undefined && second !== undefined && first !== second) parents.set(second, first)
  }
  return rootOf
}

type Series = { readonly code: string; readonly epoch: string; readonly key: Buffer }
/** A name that is valid in one series and month: 96 bits of a keyed hash. */
const pseudonymOf = ({ code, epoch, key }: Series, kind: 'cluster' | 'worker', id: string): string =>
  hmacOf(key).update(`${code}\n${epoch}\n${kind}\n${id}`).digest('base64url').slice(0, 16)

/** The inputs of a series: one row for each pair of cluster and worker, without names. */
export const documentOf = (
  series: Series,
  groups: readonly WorkGroup[],
  clusterOf: (node: string) => string,
): InputsDocument => {
  const pairs = makePairs()
  for (const group of groups)
    pairs.add(JSON.stringify([clusterOf(group.buyer), group.worker]), clusterOf(group.buyer), group)
  return sortedInputs({
    code: series.code,
    epoch: series.epoch,
    method: currentMethod,
    rows: pairs.list().map(({ cluster, units, seconds, usdMicro }) => ({
      cluster: pseudonymOf(series, 'cluster', cluster),
      units,
      seconds,
      usdMicro: Number(usdMicro),
    })),
    workers: [...new Set(groups.map(({ worker }) => worker))].map((id) => pseudonymOf(series, 'worker', id)),
  })
}

type PairSum = { cluster: string; units: number; seconds: number; usdMicro: bigint }
const makePairs = () => {
  const rows = new Map<string, PairSum>()
  return {
    add: (key: string, cluster: string, { units, seconds, usdMicro }: WorkGroup): void => {
      const row = rows.get(key) ?? { cluster, units: 0, seconds: 0, usdMicro: 0n }
      rows.set(key, {
        cluster,
        units: row.units + units,
        seconds: row.seconds + seconds,
        usdMicro: row.usdMicro + usdMicro,
      })
    },
    list: (): PairSum[] => [...rows.values()],
  }
}
