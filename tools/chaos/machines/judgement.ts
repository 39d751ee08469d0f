import type { JournalEntry } from '../../../packages/server/src/signing/journal.ts'
import type { LoadCall } from '../verify-load/load.ts'
import type { Role } from './machine.ts'

/** What was killed. Times are those of `performance.now()`. */
export type Kill = {
  readonly machine: string
  /** Where clients reach the machine. */
  readonly baseUrl: string
  readonly part: Role | 'machine'
  readonly killedAt: number
  /** When it worked again; Infinity where it did not. */
  readonly backAt: number
}

/** A key that was revoked under load. */
export type Revocation = {
  readonly kid: string
  /** The machine whose signer had the key, and the one where an operator revoked it. */
  readonly owner: string
  readonly revokedOn: string
  /** By the clock of the machines, which is one. */
  readonly revokedAt: number
  /** How long an api published it after that; Infinity where it still does. */
  readonly unpublishedMs: number
}

/** A client that keeps a connection to a machine without power learns of it when the machine answers again. */
const keptConnectionMs = 20_000
const revocationMsMax = 5_000

/** A machine is not asked to answer while its own api is away. */
const isExcused = (call: LoadCall, kills: readonly Kill[]): boolean =>
  call.status === 0 &&
  kills.some(({ part, baseUrl, killedAt, backAt }) => {
    if (baseUrl !== call.baseUrl || (part !== 'api' && part !== 'machine')) return false
    const isKept = part === 'machine' && call.error.endsWith('kept connection')
    return call.endedAt >= killedAt && call.startedAt <= backAt + (isKept ? keptConnectionMs : 0)
  })

/** Nothing was restored, so `restore_pending` is a false alarm. */
const isAllowed = ({ status, error }: LoadCall): boolean =>
  status === 200 ||
  status === 202 ||
  (status >= 400 && status < 500) ||
  (status === 503 && error === 'overloaded')

/** Answers that no client may see from a machine whose api runs, with their numbers. */
export const findForbidden = (calls: readonly LoadCall[], kills: readonly Kill[]): string[] => {
  const forbidden = calls.filter((call) => !isAllowed(call) && !isExcused(call, kills))
  return [...Map.groupBy(forbidden, ({ status, error }) => `${status} ${error}`.trim())].map(
    ([answer, { length }]) => `${length} × ${answer} from a machine whose api was running`,
  )
}

/** The longest time without a 200 from a machine whose api was running, from the kill until all was back. */
export const gapOf = (kill: Kill, baseUrls: readonly string[], calls: readonly LoadCall[]): number => {
  const survivors = baseUrls.filter(
    (baseUrl) => kill.part === 'signer' || kill.part === 'worker' || baseUrl !== kill.baseUrl,
  )
  const gaps = survivors.map((survivor) => {
    const times = calls
      .filter(({ status, baseUrl }) => status === 200 && baseUrl === survivor)
      .map(({ endedAt }) => endedAt)
      .toSorted((a, b) => a - b)
    const before = times.findLast((time) => time <= kill.killedAt) ?? kill.killedAt
    const after = times.find((time) => time >= kill.backAt) ?? kill.backAt
    const marks = [before, ...times.filter((time) => time > before && time < after), after]
    return marks.reduce((longest, mark, index) => Math.max(longest, mark - (marks[index - 1] ?? mark)), 0)
  })
  return Math.max(...gaps)
}

export type RevocationFigures = {
  /** Signatures in the ten seconds before: none would say nothing. */
  readonly before: number
  readonly after: number
  /** When the last signature was made, after the revocation; 0 where there was none. */
  readonly lastSignatureMs: number
  readonly unpublishedMs: number
}

/** A signature is in a journal before it exists, so the journals say what a key signed. */
export const figuresOfRevocation = (
  { kid, revokedAt, unpublishedMs }: Revocation,
  lines: readonly JournalEntry[],
): RevocationFigures => {
  const times = lines.filter((line) => line.kid === kid).map(({ at }) => at)
  const after = times.filter((at) => at > revokedAt)
  return {
    before: times.filter((at) => at <= revokedAt && at > revokedAt - 10_000).length,
    after: after.length,
    lastSignatureMs: Math.max(0, ...after.map((at) => at - revokedAt)),
    unpublishedMs,
  }
}

/** Why a revocation does not hold; empty where it does. */
export const findRevocationFaults = (
  { kid, owner, revokedOn }: Revocation,
  { before, lastSignatureMs, unpublishedMs }: RevocationFigures,
): string[] => {
  const name = `key ${kid} of ${owner}, revoked on ${revokedOn},`
  return [
    ...(before === 0 ? [`${name} signed nothing before: this says nothing`] : []),
    ...(lastSignatureMs > revocationMsMax ? [`${name} still signed after ${lastSignatureMs} ms`] : []),
    ...(unpublishedMs > revocationMsMax ? [`${name} was published for ${unpublishedMs} ms more`] : []),
  ]
}
