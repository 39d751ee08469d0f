import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { ReversedParts } from '../../payments/index.ts'
import type { DisputedSpan } from '../../platform/db/columns.ts'
import { now, type Tx } from '../../platform/db/db.ts'

export type AgentLedger = { readonly agentId: string; readonly mode: Mode }

export type DisputedPack = ReversedParts & {
  readonly checkoutId: string
  readonly pack: string
  readonly amountUsdCents: bigint
}

/** True where the parts are new. A pack that was never disputed has none: an inquiry takes no money. */
export const upsertDisputedPack = async (
  tx: Tx,
  book: AgentLedger,
  disputed: DisputedPack,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into disputed_packs as known (agent_id, mode, checkout_id, pack, amount_usd_cents, refunded_usd_cents,
      lost_usd_cents, open_usd_cents)
    select ${book.agentId}, ${book.mode}, ${disputed.checkoutId}, ${disputed.pack}, ${disputed.amountUsdCents}::bigint,
      ${disputed.refundedUsdCents}::bigint, ${disputed.lostUsdCents}::bigint, ${disputed.openUsdCents}::bigint
    where ${disputed.lostUsdCents + disputed.openUsdCents > 0n} or exists (select from disputed_packs
      where agent_id = ${book.agentId} and mode = ${book.mode} and checkout_id = ${disputed.checkoutId})
    on conflict (agent_id, mode, checkout_id) do update set refunded_usd_cents = excluded.refunded_usd_cents,
      lost_usd_cents = excluded.lost_usd_cents, open_usd_cents = excluded.open_usd_cents
    where (known.refunded_usd_cents, known.lost_usd_cents, known.open_usd_cents)
      is distinct from (excluded.refunded_usd_cents, excluded.lost_usd_cents, excluded.open_usd_cents)
    returning 1`.execute(tx)
  return rows.length === 1
}

/** A bound on what one agent can dispute; a pass reads all of them. */
const disputedMax = 10_000
export const listDisputedPacks = async (tx: Tx, { agentId, mode }: AgentLedger): Promise<DisputedPack[]> => {
  const rows = await tx
    .selectFrom('disputed_packs')
    .select([
      'checkout_id',
      'pack',
      'amount_usd_cents',
      'refunded_usd_cents',
      'lost_usd_cents',
      'open_usd_cents',
    ])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .orderBy('checkout_id')
    .limit(disputedMax)
    .execute()
  return rows.map((row) => ({
    checkoutId: row.checkout_id,
    pack: row.pack,
    amountUsdCents: row.amount_usd_cents,
    refundedUsdCents: row.refunded_usd_cents,
    lostUsdCents: row.lost_usd_cents,
    openUsdCents: row.open_usd_cents,
  }))
}

type Counts = { readonly checkoutId: string; readonly suspended: number; readonly revoked: number }
export const updateDisputedCounts = async (
  tx: Tx,
  { agentId, mode }: AgentLedger,
  counts: Counts,
): Promise<void> => {
  await tx
    .updateTable('disputed_packs')
    .set({ suspended: counts.suspended, revoked: counts.revoked })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('checkout_id', '=', counts.checkoutId)
    .execute()
}

type ShownDispute = Counts & {
  readonly pack: string
  readonly lostUsdCents: bigint
  readonly openUsdCents: bigint
  readonly disputedAt: Date
  readonly isDone: boolean
}
/** Disputed packs for display, the latest first. */
export const listDisputesShown = async (
  tx: Tx,
  { agentId, mode }: AgentLedger,
  limit: number,
): Promise<ShownDispute[]> => {
  const { rows } = await sql<ShownDispute>`
    select pack.checkout_id as "checkoutId", pack.pack, pack.lost_usd_cents as "lostUsdCents",
      pack.open_usd_cents as "openUsdCents", pack.disputed_at as "disputedAt", pack.suspended, pack.revoked,
      pass.is_done as "isDone"
    from disputed_packs pack join dispute_passes pass on pass.agent_id = pack.agent_id and pass.mode = pack.mode
    where pack.agent_id = ${agentId} and pack.mode = ${mode}
    order by pack.disputed_at desc, pack.checkout_id desc limit ${limit}`.execute(tx)
  return rows
}

/** Starts the pass over the agent's disputed credentials again, from a new plan. */
export const upsertPass = async (tx: Tx, { agentId, mode }: AgentLedger): Promise<void> => {
  await sql`
    insert into dispute_passes (agent_id, mode) values (${agentId}, ${mode})
    on conflict (agent_id, mode) do update set plan = null, is_done = false, due_at = pohf_now(), skipped = 0`.execute(
    tx,
  )
}

/** The same, where there was one. */
export const updatePassRepeated = async (tx: Tx, { agentId, mode }: AgentLedger): Promise<void> => {
  await tx
    .updateTable('dispute_passes')
    .set({ plan: null, is_done: false, due_at: now(), skipped: 0 })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .execute()
}

export type Pass = AgentLedger & { readonly plan: readonly DisputedSpan[] | null; readonly skipped: number }

/** The pass that is due longest, locked; others take another one meanwhile. */
export const findDuePassLocked = async (tx: Tx): Promise<Pass | undefined> => {
  const { rows } = await sql<Pass>`
    select agent_id as "agentId", mode, plan, skipped from dispute_passes
    where not is_done and due_at <= pohf_now() order by due_at limit 1 for update skip locked`.execute(tx)
  return rows[0]
}

export const findPassLocked = async (tx: Tx, { agentId, mode }: AgentLedger): Promise<Pass | undefined> => {
  const { rows } = await sql<Pass>`
    select agent_id as "agentId", mode, plan, skipped from dispute_passes
    where agent_id = ${agentId} and mode = ${mode} and not is_done for update`.execute(tx)
  return rows[0]
}

type Progress = { readonly plan: readonly DisputedSpan[]; readonly skipped: number }
/** Stores what is left to do. The next page of another agent comes first. */
export const updatePassProgress = async (
  tx: Tx,
  { agentId, mode }: AgentLedger,
  progress: Progress,
): Promise<void> => {
  await tx
    .updateTable('dispute_passes')
    .set({
      plan: JSON.stringify(progress.plan),
      is_done: progress.plan.length === 0,
      due_at: now(),
      skipped: progress.skipped,
    })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .execute()
}

/** Tries a pass again later, so that it does not keep others from running. */
export const updatePassDeferred = async (
  tx: Tx,
  { agentId, mode }: AgentLedger,
  seconds: number,
): Promise<void> => {
  await sql`
    update dispute_passes set due_at = pohf_now() + make_interval(secs => ${seconds})
    where agent_id = ${agentId} and mode = ${mode}`.execute(tx)
}
