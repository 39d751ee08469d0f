import { sql } from 'kysely'
import type { Mode, TrustRootKind } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import type { Root, UseLimit } from './rules.ts'

const rootColumns = [
  'kind',
  'name',
  'keys_url',
  'mode',
  'require_digest',
  'agents',
  'reason',
  'added_at',
] as const

/** Every root, oldest first. There are at most `rootsMax`. */
export const listRoots = async (tx: Tx): Promise<Root[]> => {
  const rows = await tx
    .selectFrom('trust_roots')
    .select(rootColumns)
    .orderBy('added_at')
    .orderBy('kind')
    .orderBy('name')
    .limit(1_000)
    .execute()
  return rows.map((row) => ({
    kind: row.kind,
    name: row.name,
    keysUrl: row.keys_url,
    mode: row.mode,
    requireDigest: row.require_digest,
    agents: row.agents,
    reason: row.reason,
    addedAt: row.added_at,
  }))
}

/** Serializes additions, so that two at once cannot pass the limit together. */
export const lockRoots = async (tx: Tx): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('trust_roots', 0))`.execute(tx)
}

type NewRoot = Pick<Root, 'kind' | 'name' | 'keysUrl' | 'mode' | 'requireDigest' | 'reason'>
/** False where there is one of this kind and name. */
export const insertRoot = async (tx: Tx, root: NewRoot): Promise<boolean> => {
  const inserted = await tx
    .insertInto('trust_roots')
    .values({
      kind: root.kind,
      name: root.name,
      keys_url: root.keysUrl,
      mode: root.mode,
      require_digest: root.requireDigest,
      reason: root.reason,
    })
    .onConflict((conflict) => conflict.columns(['kind', 'name']).doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

type RootKey = { readonly kind: TrustRootKind; readonly name: string }
export const deleteRoot = async (tx: Tx, { kind, name }: RootKey): Promise<boolean> => {
  const { numDeletedRows } = await tx
    .deleteFrom('trust_roots')
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Locks the root and returns how many agents it has; undefined where it was removed. */
export const findRootForUpdate = async (tx: Tx, { kind, name }: RootKey): Promise<number | undefined> => {
  const row = await tx
    .selectFrom('trust_roots')
    .select('agents')
    .where('kind', '=', kind)
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst()
  return row?.agents
}

export const updateRootAgents = async (tx: Tx, { kind, name }: RootKey, agents: number): Promise<void> => {
  await tx
    .updateTable('trust_roots')
    .set({ agents })
    .where('kind', '=', kind)
    .where('name', '=', name)
    .execute()
}

export const findAgentId = async (tx: Tx, mode: Mode, externalId: string): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('trust_agents')
    .select('agent_id')
    .where('mode', '=', mode)
    .where('external_id', '=', externalId)
    .executeTakeFirst()
  return row?.agent_id
}

type NewTrustedAgent = {
  readonly mode: Mode
  readonly externalId: string
  readonly agentId: string
  readonly root: RootKey
}
export const insertTrustedAgent = async (tx: Tx, agent: NewTrustedAgent): Promise<void> => {
  await tx
    .insertInto('trust_agents')
    .values({
      mode: agent.mode,
      external_id: agent.externalId,
      agent_id: agent.agentId,
      root_kind: agent.root.kind,
      root_name: agent.root.name,
    })
    .execute()
}

/** Whether the agent stands for a key of a root that is still trusted in its mode. */
export const isAgentTrusted = async (tx: Tx, agentId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('trust_agents')
    .innerJoin('trust_roots', (join) =>
      join
        .onRef('trust_roots.kind', '=', 'trust_agents.root_kind')
        .onRef('trust_roots.name', '=', 'trust_agents.root_name')
        .onRef('trust_roots.mode', '=', 'trust_agents.mode'),
    )
    .select('trust_agents.agent_id')
    .where('trust_agents.agent_id', '=', agentId)
    .executeTakeFirst()
  return row !== undefined
}

type Use = {
  readonly kind: 'nonce' | 'quote' | 'closed' | 'open'
  readonly hash: Buffer
  readonly expiresAt: Date
}
/** True for the first use. A use at the same time waits until this transaction ends, and is then a second one. */
export const insertUse = async (tx: Tx, { kind, hash, expiresAt }: Use): Promise<boolean> => {
  const inserted = await tx
    .insertInto('trust_uses')
    .values({ kind, hash, uses: 1, spent_usd_cents: 0n, expires_at: expiresAt })
    .onConflict((conflict) => conflict.columns(['kind', 'hash']).doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/**
 * Counts a use of an open mandate within its recurrence and budget; false where it would pass them. The row is locked, so
 * uses at the same time are counted one after another.
 */
export const countUse = async (tx: Tx, use: Use, usdCents: bigint, limit: UseLimit): Promise<boolean> => {
  const { hash, expiresAt } = use
  const { usesMax, budgetUsdCents, period, gapDays } = limit
  if (budgetUsdCents !== undefined && usdCents > budgetUsdCents) return false
  const { rows } = await sql<{ uses: number }>`
    insert into trust_uses as used (kind, hash, uses, spent_usd_cents, expires_at)
    values (${use.kind}, ${hash}, 1, ${usdCents}, ${expiresAt})
    on conflict (kind, hash) do update
      set uses = used.uses + 1, spent_usd_cents = used.spent_usd_cents + ${usdCents}::bigint, used_at = pohf_now()
      where used.uses < ${usesMax}
        and (used.spent_usd_cents + ${usdCents}::bigint <= ${budgetUsdCents ?? null}::bigint) is not false
        and (used.used_at at time zone 'utc' < date_trunc(${period ?? 'day'}, pohf_now() at time zone 'utc') or ${period === undefined})
        and used.used_at <= pohf_now() - make_interval(days => ${gapDays ?? 0})
    returning uses`.execute(tx)
  return rows.length === 1
}

/** Deletes what could not be used any more; called by the maintenance job. */
export const deleteExpired = async (tx: Tx): Promise<void> => {
  await tx.deleteFrom('trust_uses').where('expires_at', '<', now()).execute()
}
