import type { Credential, LoggedRequest, SessionRecord, Usage } from '@pohf/protocol'
import type { Command } from 'commander'
import { agentCall, runCommand, type AgentRemote } from './agent.ts'

type Page<Row> = { readonly rows: readonly Row[]; readonly nextCursor: string | null }
type ListOptions = AgentRemote & { readonly limit: string } & Readonly<Record<string, unknown>>
type ListCommand<Row> = {
  /** The last part of the path, and the field of the answer. */
  readonly name: 'credentials' | 'sessions' | 'requests'
  /** Options that are parameters of the query. */
  readonly filters: readonly string[]
  readonly head: readonly string[]
  readonly cells: (row: Row) => readonly (string | number | null)[]
  readonly whenEmpty: string
}

const pageMax = 100
/** With a filter that few rows match, pages can be empty. */
const pagesMax = 1_000

/** Columns of the same width, with two spaces between them. */
const tableOf = (head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string => {
  const lines = [head, ...rows.map((row) => row.map((cell) => (cell === null ? '-' : String(cell))))]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const readPage = async <Row>(
  remote: AgentRemote,
  name: ListCommand<Row>['name'],
  query: URLSearchParams,
): Promise<Page<Row>> => {
  const answer = await agentCall<Readonly<Record<string, readonly Row[]>> & Pick<Page<Row>, 'nextCursor'>>(
    remote,
    'GET',
    `/api/agents/${name}?${query.toString()}`,
  )
  return { rows: answer[name] ?? [], nextCursor: answer.nextCursor }
}

/** Reads pages until so many rows are there, or the list ends. */
const readRows = async <Row>(options: ListOptions, command: ListCommand<Row>): Promise<Page<Row>> => {
  const query = new URLSearchParams()
  for (const name of command.filters) if (typeof options[name] === 'string') query.set(name, options[name])
  const rows: Row[] = []
  const rowsMax = Number(options.limit)
  for (let page = 0; page < pagesMax; page++) {
    query.set('limit', String(Math.min(pageMax, rowsMax - rows.length)))
    const { rows: found, nextCursor } = await readPage<Row>(options, command.name, query)
    rows.push(...found)
    if (nextCursor === null || rows.length >= rowsMax) return { rows, nextCursor }
    query.set('cursor', nextCursor)
  }
  return { rows, nextCursor: query.get('cursor') }
}

const print = <Row>(options: ListOptions, command: ListCommand<Row>): Promise<void> =>
  runCommand(async () => {
    const { rows, nextCursor } = await readRows(options, command)
    if (options.json) return console.log(JSON.stringify({ [command.name]: rows, nextCursor }))
    console.log(rows.length === 0 ? command.whenEmpty : tableOf(command.head, rows.map(command.cells)))
    if (nextCursor !== null) console.log(`\nThere are more: --cursor ${nextCursor}`)
  })

const credentialList: ListCommand<Credential> = {
  name: 'credentials',
  filters: ['kind', 'status', 'assurance', 'since', 'until', 'cursor'],
  head: ['ISSUED', 'CREDENTIAL', 'KIND', 'STATUS', 'ASSURANCE', 'QUALITY', 'SESSION'],
  cells: (row) => [
    row.issuedAt,
    row.credentialId,
    row.kind,
    row.status,
    row.assurance,
    row.quality.toFixed(2),
    row.sessionId,
  ],
  whenEmpty: 'No credential. Mint one with POST /api/agents/verify: docs/guides/verify.md.',
}
const sessionList: ListCommand<SessionRecord> = {
  name: 'sessions',
  filters: ['kind', 'status', 'verified', 'since', 'until', 'cursor'],
  head: ['STARTED', 'SESSION', 'KIND', 'STATUS', 'VERIFIED', 'QUALITY', 'SECONDS', 'REASONS'],
  cells: (row) => [
    row.startedAt,
    row.sessionId,
    row.kind,
    row.status,
    row.verified === null ? null : String(row.verified),
    row.quality?.toFixed(2) ?? null,
    row.durationMs === null ? null : (row.durationMs / 1_000).toFixed(1),
    row.reasons.join(',') || null,
  ],
  whenEmpty: 'No session. Put the check into a page: docs/guides/check.md.',
}
const requestList: ListCommand<LoggedRequest> = {
  name: 'requests',
  filters: ['requestId', 'status', 'code', 'endpoint', 'since', 'until', 'cursor'],
  head: ['TIME', 'REQUEST', 'METHOD', 'ENDPOINT', 'STATUS', 'CODE', 'MS', 'KEY'],
  cells: (row) => [
    row.at,
    row.requestId,
    row.method,
    row.endpoint,
    row.status,
    row.code,
    row.durationMs,
    row.keyId,
  ],
  whenEmpty: 'No request in the last 7 days.',
}

const figures = ({ started, ended, verified, refused, spent }: Usage['totals']) =>
  [started, ended, verified, refused, spent] as const

const showUsage = (
  options: AgentRemote & { readonly bucket: string; readonly since?: string; readonly until?: string },
): Promise<void> =>
  runCommand(async () => {
    const { bucket, since, until } = options
    const query = new URLSearchParams({ bucket, ...(since && { since }), ...(until && { until }) })
    const usage = await agentCall<Usage>(options, 'GET', `/api/agents/usage?${query.toString()}`)
    if (options.json) return console.log(JSON.stringify(usage))
    const { totals, runway } = usage
    const rows = usage.series.map((row) => [
      bucket === 'day' ? row.at.slice(0, 10) : `${row.at.slice(0, 16)}Z`,
      ...figures(row),
    ])
    const head = [bucket.toUpperCase(), 'STARTED', 'ENDED', 'VERIFIED', 'REFUSED', 'SPENT']
    console.log(tableOf(head, [...rows, ['total', ...figures(totals)]]))
    console.log(`\nQuality in tenths from 0 to 1: ${usage.quality.join(' ')}`)
    const left = runway.daysLeft === null ? '' : `, enough for ${runway.daysLeft} days`
    console.log(`${runway.available} credits left, ${runway.spentPerDay} spent a day${left}`)
  })

type MakeCommand = (parent: Command, text: string) => Command

const listCommand = (make: MakeCommand, parent: Command, description: string): Command =>
  make(parent, 'list')
    .description(description)
    .option('--since <time>', 'only from this time on, such as 2026-11-01')
    .option('--until <time>', 'only before this time')
    .option('--limit <number>', 'number of rows', '25')
    .option('--cursor <cursor>', 'continue where a list ended, with the same options')
    .option('--json', 'print one JSON object')

/** Adds the lists of an agent and its usage. */
export const addLists = (
  program: Command,
  groups: { readonly credentials: Command; readonly sessions: Command },
  make: MakeCommand,
): void => {
  listCommand(make, groups.credentials, 'list your credentials, newest first')
    .option('--kind <kind>', 'only of this kind, such as view')
    .option('--status <status>', 'only active, suspended, revoked or expired ones')
    .option('--assurance <level>', 'only low, substantial or high ones')
    .action((options: ListOptions) => print(options, credentialList))
  listCommand(make, groups.sessions, 'list your sessions, newest first')
    .option('--kind <kind>', 'only of this kind: view, work, task or presence')
    .option('--status <status>', 'only open, closed, scored, sealed or expired ones')
    .option('--verified <boolean>', 'true: scored as human; false: refused')
    .action((options: ListOptions) => print(options, sessionList))
  const requests = program.command('requests').description('read the requests of your agent')
  listCommand(make, requests, 'list the requests of the last 7 days, newest first')
    .option('--request-id <id>', 'only this request, as in the header X-Request-Id')
    .option('--status <status>', 'only this status, such as 404, or class, such as 4xx')
    .option('--code <code>', 'only this error code')
    .option('--endpoint <id>', 'only this endpoint, such as credentials.verify')
    .action((options: ListOptions) => print(options, requestList))
  make(program, 'usage')
    .description('show usage by day or hour, the quality of sessions, and how long the credits last')
    .option('--bucket <size>', 'day or hour', 'day')
    .option('--since <time>', 'start; default: 30 days or 48 hours ago')
    .option('--until <time>', 'end; default: now')
    .option('--json', 'print one JSON object')
    .action(showUsage)
}
