import { Client } from 'pg'
import {
  ConfigFaults,
  checkDurability,
  checkRoles,
  readConfig,
  readMigrations,
  type Config,
} from '@pohf/server/doctor'
import { checkRecipient } from './chain.ts'

type Finding = { readonly check: string; readonly ok: boolean; readonly note: string }
const good = (check: string, note: string): Finding => ({ check, ok: true, note })
const bad = (check: string, note: string): Finding => ({ check, ok: false, note })

const checkDatabase = async (config: Config): Promise<Finding[]> => {
  const client = new Client({
    connectionString: config.DATABASE_URL,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  try {
    await client.connect()
  } catch (error) {
    return [
      bad(
        'database',
        `cannot connect: ${error instanceof Error ? error.message : String(error)}. Start PostgreSQL, or correct DATABASE_URL`,
      ),
    ]
  }
  try {
    const findings: Finding[] = [good('database', 'connected')]
    const warnings = await checkDurability(client).catch((error: unknown) => [
      error instanceof Error ? error.message : String(error),
    ])
    findings.push(
      warnings.length === 0
        ? good('durability', 'fsync, full_page_writes, synchronous_commit and checksums are on')
        : bad('durability', warnings.join('; ')),
    )
    const roleFaults = await checkRoles(client)
    findings.push(
      roleFaults.length === 0
        ? good('roles', 'the login role may act as pohf_app and pohf_mint')
        : bad('roles', roleFaults.join('; ')),
    )
    const expected = readMigrations().length
    const { rows } = await client
      .query<{ count: string }>('select count(*)::text as count from platform_migrations')
      .catch(() => ({ rows: [{ count: '0' }] }))
    const applied = Number(rows[0]?.count ?? 0)
    findings.push(
      applied === expected
        ? good('schema', `${applied} migrations applied`)
        : bad('schema', `${applied} of ${expected} migrations applied. Run pohf migrate`),
    )
    const recipient = await checkRecipient(config, client)
    if (recipient) findings.push({ check: 'recipient', ...recipient })
    return findings
  } finally {
    await client.end()
  }
}

const checkServer = async (config: Config): Promise<Finding> => {
  const response = await fetch(`${config.BASE_URL}/readyz`, { signal: AbortSignal.timeout(3_000) }).catch(
    () => undefined,
  )
  if (response?.ok) return good('server', `${config.BASE_URL} is ready`)
  return bad(
    'server',
    response
      ? `${config.BASE_URL}/readyz answers ${response.status}: ${(await response.text()).trim()}`
      : `${config.BASE_URL} does not respond. Start the server with npm start`,
  )
}

/** Checks settings, database, schema, recipient of payments, mail and server, and prints for each how to fix it. */
export const doctor = async (options: { json?: boolean }): Promise<void> => {
  const findings: Finding[] = []
  try {
    const config = readConfig()
    findings.push(good('settings', 'valid'), ...(await checkDatabase(config)), await checkServer(config))
    findings.push(
      config.SMTP_URL
        ? good('mail', 'a mail server is configured')
        : bad('mail', 'mails wait in the outbox. Set SMTP_URL'),
    )
    findings.push(
      config.STRIPE_SECRET_KEY
        ? good('card', `a card provider is configured at ${config.STRIPE_API_BASE}`)
        : bad('card', 'card payments are off. Set STRIPE_SECRET_KEY'),
    )
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error
    findings.push(...error.faults.map((fault) => bad('settings', fault)))
  }
  for (const finding of findings)
    console.log(`${finding.ok ? '✓' : '✗'} ${finding.check.padEnd(11)} ${finding.note}`)
  const faults = findings.filter((finding) => !finding.ok).length
  if (options.json) console.log(JSON.stringify({ ok: faults === 0, faults, findings }))
  if (faults > 0) process.exitCode = 1
}
