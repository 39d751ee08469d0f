import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'

/** What the erasure of a person does with what a table holds of them. */
type ErasureEffect =
  /** No column is about a person whom we enrol. */
  | 'nothing'
  /** Rows of the person are deleted. */
  | 'deleted'
  /** The row stays; what led to the person is emptied. */
  | 'emptied'
  /** Stays, and identifies no person once the rest is deleted. */
  | 'anonymous'
  /** Short-lived; goes by itself. */
  | 'ages out'

/** Every table, and what it holds of a person. A new table without a line here fails a test. */
const erasureEffects: Readonly<Record<string, ErasureEffect>> = {
  // People of a customer are not enrolled: an owner removes them, or they leave.
  account_agents: 'nothing',
  account_challenges: 'nothing',
  account_invitations: 'nothing',
  account_links: 'nothing',
  account_passkeys: 'nothing',
  account_people: 'nothing',
  account_roles: 'nothing',
  account_sessions: 'nothing',
  accounts: 'nothing',
  admitted_apps: 'nothing',
  agents: 'nothing',
  api_key_hashes: 'nothing',
  api_keys: 'nothing',
  approval_challenges: 'ages out',
  approval_settings: 'nothing',
  // The decision and its times stay beside the signed credential; the words of the person and the recording do not.
  approval_turns: 'emptied',
  approval_types: 'nothing',
  approvals: 'nothing',
  approver_groups: 'nothing',
  approver_values: 'deleted',
  approvers: 'emptied',
  assignments: 'emptied',
  attention_batches: 'nothing',
  attention_claims: 'anonymous',
  attention_delivery: 'nothing',
  attention_erasures: 'anonymous',
  attention_pages: 'nothing',
  attention_segments: 'nothing',
  attention_spool: 'ages out',
  beacon_hours: 'nothing',
  binding_allowances: 'nothing',
  // A hash of a browser's key for one agent, for 30 days; it names no member.
  browser_sessions: 'ages out',
  card_disputes: 'nothing',
  card_events: 'nothing',
  card_payments: 'nothing',
  card_refund_facts: 'nothing',
  card_refunds: 'nothing',
  checkouts: 'nothing',
  company_issuers: 'nothing',
  consents: 'anonymous',
  conversion_claims: 'anonymous',
  conversion_hours: 'nothing',
  conversions: 'anonymous',
  credential_claims: 'deleted',
  credential_states: 'nothing',
  credentials: 'emptied',
  device_attestations: 'deleted',
  device_keys: 'deleted',
  dispute_passes: 'nothing',
  disputed_packs: 'nothing',
  enrolment_links: 'deleted',
  events: 'emptied',
  // Keyed codes of acts and photos that a restored database has lost; nothing leads from them to a person.
  forgotten_credentials: 'anonymous',
  forgotten_values: 'anonymous',
  forward_orders: 'nothing',
  free_plan_grants: 'nothing',
  free_plan_months: 'nothing',
  free_plan_places: 'nothing',
  gas_keys: 'nothing',
  gas_transactions: 'nothing',
  // An answer to an invitation without `externalRef` is encrypted for the agent's key and ages out within a day.
  idempotency_keys: 'deleted',
  key_manifests: 'nothing',
  key_rotations: 'nothing',
  key_revocations: 'nothing',
  landing_days: 'nothing',
  landing_hours: 'nothing',
  ledger_accounts: 'nothing',
  ledger_checkpoints: 'nothing',
  ledger_claims: 'nothing',
  ledger_compared: 'nothing',
  ledger_drift: 'nothing',
  ledger_entries: 'nothing',
  ledger_hours: 'nothing',
  ledger_lines: 'nothing',
  mail_counts: 'ages out',
  mail_tokens: 'nothing',
  issuer_requests: 'deleted',
  // Keyed hashes that a directory sent; it names no person of ours and is deleted with the company.
  issuer_users: 'anonymous',
  member_attention: 'deleted',
  members: 'deleted',
  mint_batches: 'nothing',
  mint_batches_pruned: 'nothing',
  nonces: 'deleted',
  nullifiers: 'anonymous',
  onchain_humans: 'anonymous',
  operator_audit: 'nothing',
  operator_challenges: 'nothing',
  operator_passkeys: 'nothing',
  operator_sessions: 'nothing',
  operators: 'nothing',
  order_units: 'emptied',
  orders: 'nothing',
  outbox: 'deleted',
  partner_conversions: 'nothing',
  partner_rates: 'nothing',
  passkey_challenges: 'deleted',
  payment_bindings: 'emptied',
  // Named by others; the refusals of the person are deleted.
  payout_account_refusals: 'deleted',
  // The keyed hash stays for 180 days without the person, so that the account is not another identity's at once.
  payout_accounts: 'emptied',
  payout_requests: 'nothing',
  people: 'deleted',
  person_logins: 'deleted',
  person_passkeys: 'deleted',
  person_proofs: 'deleted',
  person_recovery_codes: 'deleted',
  photo_hashes: 'anonymous',
  platform_migrations: 'nothing',
  platform_partitioned: 'nothing',
  platform_clock: 'nothing',
  platform_due_times: 'nothing',
  platform_master_key: 'nothing',
  platform_kept_keys: 'nothing',
  platform_master_key_holders: 'nothing',
  platform_rewraps: 'nothing',
  presences: 'deleted',
  // A keyed hash of the issuer's code, so that who erased everything is not a second human for the life of the proof.
  proof_tombstones: 'anonymous',
  // What was answered is bought; the credential names the person by a code that nothing leads back from.
  purchases: 'anonymous',
  // The agent's own calls for a week: no body, no address, no id of a person.
  request_log: 'ages out',
  // What the key of a day explained is anonymous once the key is destroyed, 24 hours after its day.
  restore_epochs: 'nothing',
  root_counters: 'ages out',
  root_credentials: 'nothing',
  root_keys: 'nothing',
  root_losses: 'nothing',
  root_network_credentials: 'ages out',
  root_reservations: 'ages out',
  root_sessions: 'anonymous',
  root_sites: 'nothing',
  root_suspensions: 'nothing',
  session_chunks: 'deleted',
  session_claims: 'anonymous',
  session_hours: 'nothing',
  session_keys: 'deleted',
  session_reason_hours: 'nothing',
  session_recorders: 'deleted',
  sessions: 'emptied',
  status_blocks: 'nothing',
  status_elsewhere: 'nothing',
  status_entries: 'nothing',
  status_lists: 'nothing',
  stroke_sketches: 'deleted',
  task_answers: 'emptied',
  task_campaigns: 'nothing',
  task_completions: 'emptied',
  task_questions: 'nothing',
  task_token_claims: 'ages out',
  task_visitors: 'ages out',
  track_events: 'anonymous',
  track_views: 'anonymous',
  trust_agents: 'nothing',
  trust_roots: 'nothing',
  trust_uses: 'nothing',
  vhh_epochs: 'nothing',
  // Pseudonyms of one series and month; the row of a person and buyer names neither.
  vhh_inputs: 'anonymous',
  vhh_running: 'nothing',
  view_flag_hours: 'nothing',
  view_hours: 'nothing',
  webhook_attempts: 'ages out',
  // The notice of the erasure itself ages out.
  webhook_deliveries: 'deleted',
  webhook_endpoints: 'nothing',
  webhook_health: 'nothing',
  webhook_hosts: 'nothing',
  worker_earnings: 'anonymous',
  worker_standing: 'deleted',
  workflows: 'nothing',
  x402_payments: 'nothing',
}

const tablesOf = async (owner: Pool): Promise<string[]> => {
  const { rows } = await owner.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1",
  )
  return rows.map(({ name }) => name)
}
export const tablesWithoutErasureEffect = async (owner: Pool): Promise<string[]> =>
  (await tablesOf(owner)).filter((name) => !Object.hasOwn(erasureEffects, name))

/** What stands for these bytes inside base64, wherever in it they begin: the letters that their neighbours do not change. */
const insideBase64 = (bytes: Buffer, encoding: 'base64' | 'base64url'): string[] =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString(encoding)
      .replaceAll('=', '')
    return text.slice(before === 0 ? 0 : before + 1, (before + bytes.length) % 3 === 0 ? undefined : -1)
  })

/** As text, in hex, and inside base64, as in a token. */
const encodingsOf = (bytes: string | Buffer): string[] => {
  const buffer = Buffer.from(bytes)
  return [
    ...(typeof bytes === 'string' ? [bytes] : []),
    buffer.toString('hex'),
    ...insideBase64(buffer, 'base64url'),
    ...insideBase64(buffer, 'base64'),
  ]
}

/** The tables in which these bytes stand anywhere, in any form: each row is read as a dump writes it. */
export const findTablesHolding = async (owner: Pool, bytes: string | Buffer): Promise<string[]> => {
  const forms = encodingsOf(bytes)
  const found: string[] = []
  for (const table of await tablesOf(owner)) {
    const { rowCount } = await owner.query(
      `select from "${table}" t where exists (select from unnest($1::text[]) f where position(f in t::text) > 0) limit 1`,
      [forms],
    )
    if ((rowCount ?? 0) > 0) found.push(table)
  }
  return found
}

/** The files below a folder in which these bytes stand, raw or in any form: keys, journals, objects. */
export const findFilesHolding = (folder: string, bytes: string | Buffer): string[] => {
  const forms = [Buffer.from(bytes), ...encodingsOf(bytes)]
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const content = readFileSync(path)
      return forms.some((form) => content.includes(form))
    })
}
