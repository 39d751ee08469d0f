import { sql, type Selectable } from 'kysely'
import { companiesMax, type CompanyFault } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { SealedColumn } from '../../platform/db/sealed.ts'
import { checkHours, checkSecondsMin, failedCheckHours, forgottenDays, servesHours } from './rules.ts'

type Row = Omit<Selectable<DB['company_issuers']>, 'due_at'>
/** `amr` has sets, as the provider of the company may name them. */
export type CompanyRow = Omit<Row, 'amr'> & { readonly amr: string[][] }

const columns = [
  'agent_id',
  'issuer_id',
  'name',
  'issuer',
  'domain',
  'client_id',
  'client_secret_sealed',
  'acr',
  'amr',
  'token',
  'created_at',
  'changed_at',
  'changed_by',
  'checked_at',
  'seen_at',
  'failed_since',
  'fault',
] as const
const companyOf = (row: Row): CompanyRow => ({ ...row, amr: row.amr.map((set) => set.split(' ')) })
const setsOf = (amr: readonly (readonly string[])[]): string[] => amr.map((set) => set.join(' '))

/** Serializes the creation of companies of one agent, so that the limit holds. */
export const lockCompanies = async (tx: Tx, agentId: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`companies ${agentId}`}, 0))`.execute(tx)
}

export const listCompanies = async (tx: Tx, agentId: string): Promise<CompanyRow[]> => {
  const rows = await tx
    .selectFrom('company_issuers')
    .select(columns)
    .where('agent_id', '=', agentId)
    .orderBy('issuer_id')
    .limit(companiesMax)
    .execute()
  return rows.map(companyOf)
}

export const findCompany = async (
  tx: Tx,
  agentId: string,
  issuerId: string,
): Promise<CompanyRow | undefined> => {
  const row = await tx
    .selectFrom('company_issuers')
    .select(columns)
    .where('agent_id', '=', agentId)
    .where('issuer_id', '=', issuerId)
    .executeTakeFirst()
  return row && companyOf(row)
}

/** Those of an agent whose last check that succeeded still counts; with an id, this one alone. */
export const listServing = async (tx: Tx, agentId: string, issuerId?: string): Promise<CompanyRow[]> => {
  let query = tx
    .selectFrom('company_issuers')
    .select(columns)
    .where('agent_id', '=', agentId)
    .where('seen_at', '>', sql<Date>`pohf_now() - make_interval(hours => ${servesHours})`)
  if (issuerId !== undefined) query = query.where('issuer_id', '=', issuerId)
  const rows = await query.orderBy('issuer_id').limit(companiesMax).execute()
  return rows.map(companyOf)
}

type NewCompany = Pick<
  CompanyRow,
  | 'agent_id'
  | 'issuer_id'
  | 'name'
  | 'issuer'
  | 'domain'
  | 'client_id'
  | 'client_secret_sealed'
  | 'token'
  | 'changed_by'
> & { readonly acr: readonly string[]; readonly amr: readonly (readonly string[])[] }

export const insertCompany = async (tx: Tx, { acr, amr, ...added }: NewCompany): Promise<CompanyRow> =>
  companyOf(
    await tx
      .insertInto('company_issuers')
      .values({ ...added, acr: [...acr], amr: setsOf(amr) })
      .returning(columns)
      .executeTakeFirstOrThrow(
        () => new Error(`company ${added.issuer_id} of agent ${added.agent_id} not found after its insert`),
      ),
  )

type Change = Pick<CompanyRow, 'name' | 'client_id' | 'client_secret_sealed' | 'changed_by'> & {
  readonly acr: readonly string[]
  readonly amr: readonly (readonly string[])[]
}
export const updateCompany = async (
  tx: Tx,
  { agent_id, issuer_id }: Pick<CompanyRow, 'agent_id' | 'issuer_id'>,
  { acr, amr, ...changed }: Change,
): Promise<CompanyRow> =>
  companyOf(
    await tx
      .updateTable('company_issuers')
      .set({ ...changed, acr: [...acr], amr: setsOf(amr), changed_at: now() })
      .where('agent_id', '=', agent_id)
      .where('issuer_id', '=', issuer_id)
      .returning(columns)
      .executeTakeFirstOrThrow(
        () => new Error(`company ${issuer_id} of agent ${agent_id} not found after its change`),
      ),
  )

export const deleteCompany = async (tx: Tx, agentId: string, issuerId: string): Promise<boolean> => {
  const { numDeletedRows } = await tx
    .deleteFrom('company_issuers')
    .where('agent_id', '=', agentId)
    .where('issuer_id', '=', issuerId)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Begins a check that an owner asks for; undefined where there is no such company, or one began a moment ago. */
export const claimCheck = async (
  tx: Tx,
  agentId: string,
  issuerId: string,
): Promise<CompanyRow | undefined> => {
  const row = await tx
    .updateTable('company_issuers')
    .set({ checked_at: now() })
    .where('agent_id', '=', agentId)
    .where('issuer_id', '=', issuerId)
    .where((where) =>
      where.or([
        where('checked_at', 'is', null),
        where('checked_at', '<', sql<Date>`pohf_now() - make_interval(secs => ${checkSecondsMin})`),
      ]),
    )
    .returning(columns)
    .executeTakeFirst()
  return row && companyOf(row)
}

/** Begins the checks that are due, of every agent. Another worker gets others. */
export const claimDueChecks = async (tx: Tx, limit: number): Promise<CompanyRow[]> => {
  const { rows } = await sql<Row>`
    with due as (
      select agent_id, issuer_id from company_issuers where due_at <= pohf_now()
      order by due_at limit ${limit} for update skip locked)
    update company_issuers held set checked_at = pohf_now(), due_at = pohf_now() + make_interval(hours => ${failedCheckHours})
    from due
    where held.agent_id = due.agent_id and held.issuer_id = due.issuer_id
    returning ${sql.join(columns.map((name) => sql.ref(`held.${name}`)))}`.execute(tx)
  return rows.map(companyOf)
}

/** Stores what a check found, unless the company was removed meanwhile. */
export const updateChecked = async (
  tx: Tx,
  { agent_id, issuer_id }: Pick<CompanyRow, 'agent_id' | 'issuer_id'>,
  fault: CompanyFault | undefined,
): Promise<CompanyRow | undefined> => {
  const found =
    fault === undefined
      ? {
          seen_at: now(),
          failed_since: null,
          fault: null,
          due_at: sql<Date>`pohf_now() + make_interval(hours => ${checkHours})`,
        }
      : {
          failed_since: sql<Date>`coalesce(failed_since, pohf_now())`,
          fault,
          due_at: sql<Date | null>`case when seen_at > pohf_now() - make_interval(days => ${forgottenDays})
            then pohf_now() + make_interval(hours => ${failedCheckHours}) end`,
        }
  const row = await tx
    .updateTable('company_issuers')
    .set(found)
    .where('agent_id', '=', agent_id)
    .where('issuer_id', '=', issuer_id)
    .returning(columns)
    .executeTakeFirst()
  return row && companyOf(row)
}

export const sealedColumns: readonly SealedColumn[] = [
  {
    purpose: 'company-secret',
    table: 'company_issuers',
    column: 'client_secret_sealed',
    key: [
      ['agent_id', 'text'],
      ['issuer_id', 'text'],
    ],
  },
]
