import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'

/** Types of JSON and hexadecimal columns, from platform/db/columns.ts. JSON columns that are not named stay `Json`. */
const columnTypes: Readonly<Record<string, string>> = {
  'agents.policy': 'JsonColumn<CredentialPolicy>',
  'api_keys.scopes': 'Scope[]',
  'approval_types.labels': 'JsonColumn<ApprovalLabels>',
  'approval_types.policy': 'JsonColumn<ApprovalPolicy>',
  'approval_types.schema': 'JsonColumn<JsonRecord>',
  // One type for both tables of devices, although Play Integrity leaves no key.
  'device_keys.method': "'webauthn' | 'play_integrity' | 'app_attest'",
  'credential_states.grounds': "('operator' | 'unit' | 'dispute')[]",
  'dispute_passes.plan': 'NullableJsonColumn<readonly DisputedSpan[]>',
  'events.data': 'JsonColumn<JsonRecord>',
  'forgotten_credentials.grounds': "('operator' | 'unit' | 'dispute')[]",
  'gas_keys.address': 'Hex',
  'gas_transactions.address': 'Hex',
  'gas_transactions.hash': 'Hex',
  'gas_transactions.raw': 'Hex',
  'key_rotations.purpose': "'live' | 'test' | 'onchain' | 'onchain-test'",
  // Its partitions have no check; every line belongs to a row of ledger_accounts, which has.
  'ledger_lines.unit': "'credit' | 'star' | 'usd_cent' | 'usdc_micro'",
  'operator_audit.details': 'JsonColumn<JsonRecord>',
  'assignments.known_item': 'NullableJsonColumn<KnownAnswer>',
  'orders.terms': 'NullableJsonColumn<OrderTerms>',
  'purchases.frozen': 'NullableJsonColumn<FrozenAnswer>',
  'sessions.components': 'NullableJsonColumn<SessionComponents>',
  'sessions.counted': 'NullableJsonColumn<SessionCounts>',
  'sessions.evidence': 'JsonColumn<readonly EvidenceItem[]>',
  'sessions.telemetry': 'NullableJsonColumn<TelemetrySeal>',
  'vhh_epochs.details': 'NullableJsonColumn<EpochDetails>',
  'vhh_inputs.document': 'JsonColumn<JsonRecord>',
  'workflows.answer_form': 'JsonColumn<AnswerForm>',
  'workflows.gold': 'JsonColumn<readonly KnownAnswer[]>',
  'workflows.input_form': 'JsonColumn<InputForm>',
  'x402_payments.asset': 'Hex',
  'x402_payments.nonce': 'Hex',
  'x402_payments.pay_to': 'Hex',
  'x402_payments.payer': 'Hex',
  'x402_payments.signature': 'Hex',
  'x402_payments.transaction_hash': 'Hex',
}

type Column = {
  readonly path: string
  readonly name: string
  readonly nullable: boolean
  readonly generated: boolean
  readonly constraints: readonly string[]
}

const listColumns = async (url: string): Promise<Column[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Column>(
      `select c.relname || '.' || a.attname as path, a.attname as name, not a.attnotnull as nullable,
         a.atthasdef or a.attidentity <> '' as generated,
         array(select pg_get_constraintdef(k.oid) from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'
           and k.conkey = array[a.attnum]) as constraints
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       order by 1`,
    )
    return rows
  } finally {
    await client.end()
  }
}

/** The values that a check constraint of one text column allows, as a union of literals. */
const literalsOf = (column: Column): string | undefined => {
  for (const constraint of column.constraints) {
    const [, list = ''] =
      /^CHECK \(\(\w+ = (?:ANY \(ARRAY\[)?((?:'[\w:]+'::text(?:, )?)+)(?:\]\))?\)\)(?: NOT VALID)?$/.exec(
        constraint,
      ) ?? []
    const values = [...list.matchAll(/'([\w:]+?)'::text/g)].map((match) => `'${match[1] ?? ''}'`)
    if (values.length > 0) return values.join(' | ')
  }
  return column.name === 'mode' ? "'live' | 'test'" : undefined
}

/** kysely-codegen takes an override as the whole type: null and defaults have to be said again. */
const overrideOf = (column: Column): string | undefined => {
  const named = columnTypes[column.path]
  const base = named ?? literalsOf(column)
  if (base === undefined) return undefined
  const type = column.nullable && !base.startsWith('Nullable') ? `${base} | null` : base
  return column.generated ? `Generated<${type}>` : type
}

const importLine = (): string => {
  const names = new Set(Object.values(columnTypes).flatMap((type) => type.match(/\b[A-Z]\w+/g) ?? []))
  return `import type { ${[...names].toSorted().join(', ')} } from "./columns.ts";`
}

/** The types of all tables, by kysely-codegen from a migrated database; it writes them to `out` first. */
export const schemaTypes = async (url: string, out: string): Promise<string> => {
  const columns = await listColumns(url)
  const unknown = Object.keys(columnTypes).filter((path) => !columns.some((column) => column.path === path))
  if (unknown.length > 0)
    throw new Error(`columnTypes names columns that do not exist: ${unknown.join(', ')}`)
  const overrides = columns.flatMap((column) => {
    const type = overrideOf(column)
    return type === undefined ? [] : [[column.path, type] as const]
  })
  const settings = {
    'type-mapping': { int8: 'bigint' },
    overrides: { columns: Object.fromEntries(overrides) },
  }
  const run = spawnSync(
    'kysely-codegen',
    [
      '--dialect',
      'postgres',
      '--url',
      url,
      '--out-file',
      out,
      ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, JSON.stringify(value)]),
    ],
    { encoding: 'utf8' },
  )
  if (run.status !== 0)
    throw new Error(
      `kysely-codegen ended with status ${run.status}: ${run.stderr || run.stdout || String(run.error)}`,
    )
  // The option --custom-imports needs the compiler's JavaScript interface, which TypeScript 7 does not have.
  return readFileSync(out, 'utf8').replace(/^import type .*$/m, `$&\n${importLine()}`)
}
