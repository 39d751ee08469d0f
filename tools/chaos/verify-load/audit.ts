import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { sum } from '../../driver/rounds.ts'
import { step } from '../../driver/program.ts'
import { withDatabase } from '../../driver/service.ts'
import type { startLoad, VerifyRecord } from './load.ts'

const auditSql = {
  stored: `select k.agent_id || ' ' || k.reference as name, c.jwt from credential_claims k
    join credentials c on c.agent_id = k.agent_id and c.credential_id = k.credential_id and c.at = k.at`,
  credentials: 'select count(*)::int as n from credentials',
  debits: "select count(*)::int as n from ledger_claims where kind = 'spend'",
  missing: `select count(*)::int as n from ledger_claims l where l.kind = 'spend' and not exists
    (select from credentials c where c.agent_id = l.agent_id and c.credential_id = l.reference)`,
  twice: `select count(*)::int as n from (select from events where type = 'credential.issued'
    group by agent_id, data ->> 'sessionId' having count(*) > 1) doubled`,
  uneven: `select count(*)::int as n from ledger_accounts a where a.balance <> (select coalesce(sum(amount), 0) from ledger_lines l
    where (l.agent_id, l.mode, l.account, l.unit) = (a.agent_id, a.mode, a.account, a.unit)) or not ledger_may_hold(a.account, a.balance)`,
  spent: `select coalesce(sum(balance), 0)::int as n from ledger_accounts where account = 'consumed:credit'`,
  events: "select event_id from events where type = 'credential.issued'",
  places:
    "select coalesce(sum(used), 0)::int as n from root_counters where spender = '' and tag like 'narrow-%'",
  hours: `select coalesce(sum(taken), 0)::int as n from root_counters cross join lateral unnest(hours) taken
    where spender = '' and tag like 'narrow-%'`,
  networked: 'select count(*)::int as n from root_network_credentials',
  above: 'select count(*)::int as n from root_counters where used > day_limit or hour_limit < any (hours)',
}

export type Audit = {
  readonly faults: readonly string[]
  /** Acknowledged, and not stored as it was. */
  readonly lost: number
  /** Debits more than credentials, and sessions with more than one credential. */
  readonly doubleCharged: number
  /** Debits without their credential. */
  readonly missingCredential: number
  /** The ids of the events of the credentials. */
  readonly events: readonly string[]
}

/** Compares what was acknowledged, stored and paid. Only an unresolved session may have a credential that nobody got. */
export const audit = async (
  database: Client,
  { acknowledged, unresolved }: Pick<VerifyRecord, 'acknowledged' | 'unresolved'>,
): Promise<Audit> => {
  const numberOf = async (text: string) => (await database.query<{ n: number }>(text)).rows[0]?.n ?? NaN
  const { rows } = await database.query<{ name: string; jwt: string }>(auditSql.stored)
  const stored = new Map(rows.map((row) => [row.name, row.jwt]))
  const [credentials, debits] = [await numberOf(auditSql.credentials), await numberOf(auditSql.debits)]
  const faults: string[] = []
  if (credentials !== debits) faults.push(`${credentials} credentials and ${debits} debits`)
  if ((await numberOf(auditSql.spent)) !== debits) faults.push('the credits that are gone are not the debits')
  if ((await numberOf(auditSql.uneven)) > 0) faults.push('a balance is not the sum of its lines')
  const [places, hours] = [await numberOf(auditSql.places), await numberOf(auditSql.hours)]
  const networked = await numberOf(auditSql.networked)
  if (networked > 0 && (places !== credentials || hours !== credentials || networked !== credentials))
    faults.push(`${credentials} credentials took ${places} places of networks, ${hours} by the hour`)
  if ((await numberOf(auditSql.above)) > 0) faults.push('a counter of a network is above its limit')
  const unknown = [...stored.keys()].filter((name) => !acknowledged.has(name) && !unresolved.has(name))
  if (stored.size !== credentials || unknown.length > 0)
    faults.push(
      `${acknowledged.size} acknowledged, ${unknown.length} more stored, and ${credentials} credentials`,
    )
  return {
    faults,
    lost: [...acknowledged].filter(([name, jwt]) => stored.get(name) !== jwt).length,
    doubleCharged: Math.max(0, debits - credentials) + (await numberOf(auditSql.twice)),
    missingCredential: await numberOf(auditSql.missing),
    events: (await database.query<{ event_id: string }>(auditSql.events)).rows.map((row) => row.event_id),
  }
}

/** Waits until every event has come, as long as some still do. Returns how many have not. */
export const waitForDeliveries = async (
  events: readonly string[],
  received: ReadonlyMap<string, number>,
  patienceMs: number,
): Promise<number> => {
  const missing = () => events.filter((id) => !received.has(id)).length
  let [left, since] = [missing(), performance.now()]
  while (left > 0 && performance.now() - since < patienceMs) {
    await setTimeout(250)
    const now = missing()
    if (now < left) [left, since] = [now, performance.now()]
  }
  return left
}

/** What clients of verify got, beside what the database has and what the webhook received. */
export type VerifyFindings = Omit<Audit, 'events'> & {
  /** Credentials that a client got. */
  readonly acknowledged: number
  /** Events of credentials that never reached the webhook. */
  readonly undelivered: number
  /** Deliveries of an event that had been delivered: delivery is at least once. */
  readonly duplicates: number
  /** Calls without an answer, or with a 503: repeated until there was one. */
  readonly unknownOutcomes: number
}

/** Compares at the end of a load. A worker that was killed leaves leases of a minute behind. */
export const compareAll = async (
  databaseUrl: string,
  record: VerifyRecord,
  load: Pick<ReturnType<typeof startLoad>, 'calls' | 'faults'>,
  received: ReadonlyMap<string, number>,
): Promise<VerifyFindings> => {
  step('comparing what was answered, stored, paid and delivered')
  const { events, ...found } = await withDatabase(databaseUrl, (client) => audit(client, record))
  // Where something was lost, there is no need to wait.
  const undelivered = await waitForDeliveries(events, received, found.lost > 0 ? 0 : 90_000)
  return {
    ...found,
    acknowledged: record.acknowledged.size,
    undelivered,
    duplicates: sum([...received.values()]) - received.size,
    unknownOutcomes: load.calls.filter(({ status }) => status === 0 || status === 503).length,
    faults: [...load.faults, ...found.faults],
  }
}

type Counts = Omit<VerifyFindings, 'faults' | 'acknowledged' | 'duplicates' | 'unknownOutcomes'>

/** The faults of the counts: what is lost, charged twice, without its credential or not delivered. */
export const faultsOfCounts = (counts: Counts): string[] =>
  (['lost', 'doubleCharged', 'missingCredential', 'undelivered'] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => `${name}: ${counts[name]}`)
