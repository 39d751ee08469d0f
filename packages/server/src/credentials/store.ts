import { sql, type Selectable } from 'kysely'
import { apiVersion, type CredentialKind, type Mode } from '@pohf/protocol'
import { executePrepared, permitBitmaps, type Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import type { RootCharge } from '../roots/index.ts'
import { restorePending } from '../signing/index.ts'
import type { CredentialState, HeldState, SuspensionGround } from './status/rules.ts'

type Act = 'session' | 'personhood' | 'binding' | 'purchase' | 'approval'
export type ActKey = {
  readonly agentId: string
  readonly mode: Mode
  readonly act: Act
  readonly reference: string
}

/** How messages name an act. Different for every act. */
export const actName = ({ agentId, mode, act, reference }: ActKey): string =>
  `act ${act} ${reference} of agent ${agentId} (${mode})`

export type MintedCredential = {
  readonly credentialId: string
  readonly mintedAt: Date
  readonly expiresAt: Date
  readonly expired: boolean
  readonly state: CredentialState
  readonly jwt: string
  readonly answer: object
  readonly now: Date
}

type CredentialRow = Pick<Selectable<DB['credentials']>, 'credential_id' | 'at' | 'expires_at' | 'jwt'> & {
  readonly n: number
  readonly expired: boolean
  readonly state: CredentialState
  readonly answer: object
  readonly now: Date
}

/** The credentials of several acts, of any tenant, with their current state, in the order of the keys; none for no key. */
export const listMintedCredentials = async (
  tx: Tx,
  positions: readonly (ActKey | undefined)[],
): Promise<readonly (MintedCredential | undefined)[]> => {
  const keys = positions.flatMap((key) => key ?? [])
  if (keys.length === 0) return positions.map(() => undefined)
  const query = sql<CredentialRow>`
    select requested.n::int as n, c.credential_id, c.at, c.expires_at, c.expires_at <= pohf_now() as expired, c.jwt, c.answer,
      pohf_now() as now,
      (select state from credential_states s where s.agent_id = c.agent_id and s.credential_id = c.credential_id
       order by seq desc limit 1) as state
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.act)}::text[], ${keys.map((key) => key.reference)}::text[])
      with ordinality requested (agent_id, mode, act, reference, n)
    cross join lateral (
      select k.credential_id, k.at from credential_claims k
      where k.agent_id = requested.agent_id and k.mode = requested.mode and k.act = requested.act
        and k.reference = requested.reference
      limit 1) claim
    cross join lateral (
      select stored.agent_id, stored.credential_id, stored.at, expires_at, jwt, answer from credentials stored
      where stored.agent_id = requested.agent_id and stored.credential_id = claim.credential_id
        and stored.at = claim.at
      limit 1) c`
  const rows = await executePrepared(tx, 'credentials_stored', query)
  const found = new Map(
    rows.map(({ n, credential_id: credentialId, at: mintedAt, expires_at: expiresAt, ...rest }) => [
      keys[n - 1],
      { credentialId, mintedAt, expiresAt, ...rest },
    ]),
  )
  return positions.map((key) => key && found.get(key))
}

/** The credential of an act, with its current state. */
export const findMintedCredential = async (tx: Tx, key: ActKey): Promise<MintedCredential | undefined> =>
  (await listMintedCredentials(tx, [key]))[0]

/** Everything that a mint writes. */
export type MintRow = {
  readonly key: ActKey
  /** The key of the act in the signer's journal. */
  readonly actKey: string
  /** The batch that it was signed in, and an acknowledged batch: a database that lacks that one is from the past. */
  readonly batch: { readonly signer: string; readonly batch: number; readonly acknowledged: number | null }
  /** The credential of the same act that this one replaces; the mint fails if it was replaced already. */
  readonly replaces: string | undefined
  readonly charged: boolean
  readonly credentialId: string
  readonly kind: CredentialKind
  readonly at: Date
  readonly expiresAt: Date
  readonly jwt: string
  readonly answer: object
  readonly salt: Buffer | null
  readonly statusIndex: { readonly listId: string; readonly idx: number }
  /** The session that this credential seals. */
  readonly seals: string | null
  readonly event: object
  /** What it spends besides a credit; null for a test credential, and where budgets are off. */
  readonly root: RootCharge | null
  readonly ids: { readonly entry: string; readonly event: string; readonly notice: string }
}

/**
 * `lost`: the act already has a credential. `short`: no credits left. `owes`: the account is in debt. `stopped`:
 * the agent's ledger does not balance. `hour`, `day`: a budget of its root is used up for that time. `suspended`: its root
 * is suspended. `limit`: the human has had as many acts of the day as the agent allows. `forgotten`: a restore found that the act has a credential which is not stored.
 */
export type MintOutcome =
  'granted' | 'lost' | 'short' | 'owes' | 'stopped' | 'hour' | 'day' | 'limit' | 'suspended' | 'forgotten'

/** The SQLSTATE by which `credentials_mint` refuses a database that was restored to the past. */
const isFromPast = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'PR001'

/** JSON values as one parameter: PostgreSQL reads the text of an array one character at a time, and quotes double it. */
const jsonArray = (values: readonly (object | null)[]) =>
  sql`array(select nullif(value, 'null') from jsonb_array_elements(${JSON.stringify(values)}::jsonb))`

/** Mints the rows of one batch that are paid for and not minted yet; returns the outcome of each row. */
export const insertMintedCredentials = async (tx: Tx, rows: readonly MintRow[]): Promise<MintOutcome[]> => {
  const batch = rows[0]?.batch
  if (!batch || rows.some((row) => row.batch.batch !== batch.batch))
    throw new Error(`a mint of ${rows.length} credentials needs one signed batch`)
  const all = <T>(of: (row: MintRow) => T): T[] => rows.map(of)
  const query = sql<{ outcome: MintOutcome }>`
    select outcome from credentials_mint(
      ${all((row) => row.key.agentId)}, ${all((row) => row.key.mode)}, ${all((row) => row.key.act)},
      ${all((row) => row.key.reference)}, ${all((row) => row.replaces ?? null)}, ${all((row) => row.charged)},
      ${all((row) => row.credentialId)}, ${all((row) => row.kind)}, ${all((row) => row.at)},
      ${all((row) => row.expiresAt)}, string_to_array(${all((row) => row.jwt).join(',')}, ','),
      ${jsonArray(all((row) => row.answer))},
      ${all((row) => row.salt)}, ${all((row) => row.statusIndex.listId)}, ${all((row) => row.statusIndex.idx)},
      ${all((row) => row.seals)}, ${all((row) => row.ids.entry)}, ${all((row) => row.ids.event)},
      ${jsonArray(all((row) => row.event))}, ${all((row) => row.ids.notice)},
      ${jsonArray(all((row) => row.root))}, ${apiVersion}, ${all((row) => row.actKey)},
      ${batch.signer}, ${batch.batch}, ${batch.acknowledged})
    order by n`
  const outcomes = await executePrepared(tx, 'credentials_mint', query).catch((error: unknown) => {
    throw isFromPast(error) ? restorePending(error) : error
  })
  tx.outboxIds.push(
    ...rows.flatMap((row, index) => (outcomes[index]?.outcome === 'granted' ? [row.ids.event] : [])),
  )
  return outcomes.map(({ outcome }) => outcome)
}

/** The same for one row. */
export const insertMintedCredential = async (tx: Tx, row: MintRow): Promise<MintOutcome> => {
  const [outcome] = await insertMintedCredentials(tx, [row])
  if (outcome === undefined) throw new Error(`credentials_mint returned no outcome for ${actName(row.key)}`)
  return outcome
}

type ErasedMember = {
  readonly agentId: string
  readonly mode: Mode
  readonly memberId: string
  readonly sessionIds: readonly string[]
}
/**
 * Erasure: deletes the salts of the evidence and the link from act to credential. The signed credentials stay
 * unchanged: they name the person by a code that no longer resolves.
 */
export const eraseCredentialLinks = async (tx: Tx, erased: ErasedMember): Promise<void> => {
  const { agentId, mode, memberId, sessionIds } = erased
  await sql`
    with forgotten as (
      delete from credential_claims
      where agent_id = ${agentId} and mode = ${mode} and act = 'personhood'
        and (reference = ${memberId} or starts_with(reference, ${`${memberId} `}))
      returning agent_id, credential_id, at
    ), sealed as (
      select agent_id, credential_id, at from credential_claims
      where agent_id = ${agentId} and mode = ${mode} and act = 'session' and reference = any(${[...sessionIds]}::text[])
    )
    update credentials c set salt = null
    from (select * from forgotten union select * from sealed) f
    where c.agent_id = f.agent_id and c.credential_id = f.credential_id and c.at = f.at`.execute(tx)
  await tx
    .updateTable('payment_bindings')
    .set({ human_ref: 'erased' })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('human_ref', '=', memberId)
    .execute()
}

type NewState = HeldState & {
  readonly agentId: string
  readonly credentialId: string
  readonly seq: number
  readonly reason: string
}
export const insertCredentialState = async (tx: Tx, row: NewState): Promise<void> => {
  await tx
    .insertInto('credential_states')
    .values({
      agent_id: row.agentId,
      credential_id: row.credentialId,
      seq: row.seq,
      state: row.state,
      grounds: [...row.grounds],
      reason: row.reason,
    })
    .execute()
}

/** A credential by its id alone, for operators; locked, so that state changes are serial. */
export const findCredentialLocked = async (tx: Tx, credentialId: string) => {
  const row = await tx
    .selectFrom('credentials')
    .select(['agent_id', 'mode', 'status_list', 'status_idx', 'answer', 'expires_at'])
    .where('credential_id', '=', credentialId)
    .forUpdate()
    .executeTakeFirst()
  return (
    row && {
      agentId: row.agent_id,
      mode: row.mode,
      statusList: row.status_list,
      statusIdx: row.status_idx,
      answer: row.answer,
      expiresAt: row.expires_at,
    }
  )
}

/** A suspension without a ground is from before there were grounds: an operator's. */
export const heldGroundsOf = (row: {
  readonly state: CredentialState
  readonly grounds: readonly SuspensionGround[]
}): readonly SuspensionGround[] =>
  row.state === 'suspended' && row.grounds.length === 0 ? ['operator'] : row.grounds

/**
 * The current state. A separate statement: in the same statement as the lock it would read the state from before
 * the wait.
 */
export const findCredentialState = async (tx: Tx, agentId: string, credentialId: string) => {
  const row = await tx
    .selectFrom('credential_states')
    .select(['seq', 'state', 'grounds'])
    .where('agent_id', '=', agentId)
    .where('credential_id', '=', credentialId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow(
      () => new Error(`credential ${credentialId} of agent ${agentId} has no row in credential_states`),
    )
  return { seq: row.seq, state: row.state, grounds: heldGroundsOf(row) }
}

/** The session of a credential of this agent, while the credential is valid. */
export const findCredentialSession = async (
  tx: Tx,
  key: { agentId: string; mode: Mode; credentialId: string },
): Promise<string | undefined> => {
  const { rows } = await sql<{ reference: string }>`
    select k.reference from credential_claims k
    where k.agent_id = ${key.agentId} and k.mode = ${key.mode} and k.act = 'session'
      and k.credential_id = ${key.credentialId} and k.expires_at > pohf_now()
      and (select state from credential_states s where s.agent_id = k.agent_id and s.credential_id = k.credential_id
        order by seq desc limit 1) = 'issued'`.execute(tx)
  return rows[0]?.reference
}

/** Binds a payment to a human; false when it is bound to another. */
export const insertPaymentBinding = async (
  tx: Tx,
  key: { agentId: string; mode: Mode; paymentRef: string },
  humanRef: string,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into payment_bindings as bound (agent_id, mode, payment_ref, human_ref)
    values (${key.agentId}, ${key.mode}, ${key.paymentRef}, ${humanRef})
    on conflict (agent_id, mode, payment_ref) do update set human_ref = bound.human_ref
      where bound.human_ref = excluded.human_ref
    returning 1`.execute(tx)
  return rows.length === 1
}

/** The live bindings of this month, and when the next month begins. */
export const findBindingAllowance = async (
  tx: Tx,
  agentId: string,
): Promise<{ readonly used: number; readonly resetsAt: Date; readonly now: Date }> => {
  const { rows } = await sql<{ used: number; resets_at: Date; now: Date }>`
    select pohf_now() as now,
      (date_trunc('month', pohf_now() at time zone 'UTC') + interval '1 month') at time zone 'UTC' as resets_at,
      coalesce((select used from binding_allowances where agent_id = ${agentId}
        and month = to_char(pohf_now() at time zone 'UTC', 'YYYY-MM')), 0) as used`.execute(tx)
  const row = rows[0]
  if (!row) throw new Error(`no row returned while reading the binding allowance of agent ${agentId}`)
  return { used: row.used, resetsAt: row.resets_at, now: row.now }
}

/** Counts a live binding of this month; false where the limit is reached. */
export const claimBinding = async (tx: Tx, agentId: string, limit: number): Promise<boolean> => {
  const { rows } = await sql`
    insert into binding_allowances as known (agent_id, month, used)
    select ${agentId}, to_char(pohf_now() at time zone 'UTC', 'YYYY-MM'), 1 where ${limit}::int > 0
    on conflict (agent_id, month) do update set used = known.used + 1 where known.used < ${limit}::int
    returning 1`.execute(tx)
  return rows.length === 1
}

/** Issued credentials of all tenants by time, for reconciliation with the signer's journal. */
type IssuedCredential = {
  readonly credentialId: string
  readonly jwt: string
  readonly at: Date
  /** The on-chain token returned with it. */
  readonly onchain: unknown
}
export const listIssuedCredentials = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date },
  limit: number,
): Promise<IssuedCredential[]> => {
  await permitBitmaps(tx)
  const rows = await tx
    .selectFrom('credentials')
    .select(['credential_id', 'jwt', 'at', sql`answer -> 'onchain'`.as('onchain')])
    .where('at', '>=', span.from)
    .where('at', '<', span.to)
    .limit(limit)
    .execute()
  return rows.map(({ credential_id: credentialId, ...rest }) => ({ credentialId, ...rest }))
}

type ChargedKey = { readonly agentId: string; readonly mode: Mode; readonly reference: string }

/** Charged credentials of a period, of all tenants; at most `rowsMax`. */
export const listChargedCredentials = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date; readonly rowsMax: number },
): Promise<ChargedKey[]> => {
  await permitBitmaps(tx)
  const { rows } = await sql<ChargedKey>`
    select agent_id as "agentId", mode, credential_id as reference from credentials
    where charged and at >= ${span.from} and at < ${span.to} limit ${span.rowsMax}`.execute(tx)
  return rows
}

/** The keys without a credential that was minted within this time. */
export const listUnknownCredentials = async (
  tx: Tx,
  keys: readonly ChargedKey[],
  span: { readonly from: Date; readonly to: Date },
): Promise<ChargedKey[]> => {
  const { rows } = await sql<ChargedKey>`
    select key.agent_id as "agentId", key.mode, key.reference
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.reference)}::text[]) key (agent_id, mode, reference)
    left join lateral (
      select true as minted from credentials c
      where c.agent_id = key.agent_id and c.credential_id = key.reference and c.at >= ${span.from} and c.at < ${span.to}
      limit 1) known on true
    where known.minted is null and not exists (select from forgotten_credentials lost
      where lost.agent_id = key.agent_id and lost.credential_id = key.reference)`.execute(tx)
  return rows
}

type WalletClaim = {
  readonly human: Buffer
  readonly wallet: Buffer
  readonly holder: string
  readonly until: Date
}
/**
 * Claims the on-chain wallet of a human. The agent that alone holds tokens may name another wallet, since its nullifier
 * then moves on the chain. A second agent may join only while every token that has not expired names this wallet: the
 * holder of an earlier token may bind it at any time. One statement, so that two agents cannot both be first.
 */
export const claimWallet = async (
  tx: Tx,
  { human, wallet, holder, until }: WalletClaim,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into onchain_humans as held (human, wallet, holder, until) values (${human}, ${wallet}, ${holder}, ${until})
    on conflict (human) do update set wallet = excluded.wallet,
      moved_until = case when held.until <= pohf_now() then null
        when held.wallet <> excluded.wallet then held.until else held.moved_until end,
      until = case when held.until <= pohf_now() then excluded.until else greatest(held.until, excluded.until) end,
      holder = case when held.until <= pohf_now() or held.holder = excluded.holder then excluded.holder end
    where held.until <= pohf_now() or held.holder = excluded.holder
      or held.wallet = excluded.wallet and (held.moved_until is null or held.moved_until <= pohf_now())
    returning 1`.execute(tx)
  return rows.length === 1
}

/** Deletes wallets whose tokens have all expired, a batch at a time. */
export const deleteExpiredWallets = async (tx: Tx): Promise<void> => {
  await sql`
    delete from onchain_humans where human in (
      select human from onchain_humans where until < pohf_now() order by until limit 1000 for update skip locked)`.execute(
    tx,
  )
}
