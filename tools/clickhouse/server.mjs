// ClickHouse's HTTP interface from chdb, the engine of ClickHouse as a library, so that tests run the official client
// unmodified. Not a server for production: one process on a folder, no users, no cluster.
// node server.mjs --folder FOLDER --port PORT [--account USER:PASSWORD] [--answer-delay-ms MS] [--ignore-tokens]
import { randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Session } from 'chdb'

const { values: given } = parseArgs({
  options: {
    folder: { type: 'string' },
    port: { type: 'string' },
    account: { type: 'string' },
    // For batteries: how long an insert is stored and not answered, and a planted fault.
    'answer-delay-ms': { type: 'string', default: '0' },
    'ignore-tokens': { type: 'boolean', default: false },
  },
})
if (given.folder === undefined || given.port === undefined)
  throw new Error('--folder and --port are required')
const { folder, account } = given

/** An insert is one statement, because a token counts for one: so its body is held whole. */
const bodyBytesMax = 256 * 1024 * 1024

// The engine lives as long as a session is open. A second process on the folder is refused by the engine's own lock.
const root = new Session(folder)
const version = root.query('select version()', 'TSV').trim()

/** Names in the query string that are about the call. Every other one is a setting, as in ClickHouse. */
const callNames = new Set([
  'query',
  'database',
  'default_format',
  'query_id',
  'role',
  'user',
  'password',
  'compress',
  'decompress',
  'wait_end_of_query',
  'buffer_size',
])

const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const fault = (code, text, name) => new Error(`Code: ${code}. DB::Exception: ${text}. (${name})`)

/** The statuses of ClickHouse for the codes that our statements can meet; 500 for the rest. */
const statuses = {
  16: 404,
  27: 400,
  36: 404,
  46: 404,
  47: 404,
  60: 404,
  62: 400,
  81: 404,
  115: 404,
  159: 408,
}
const moreStatuses = { 307: 413, 456: 400, 457: 400, 516: 401 }

const fail = (res, error) => {
  const text = `${String(error?.message ?? error).trimEnd()} (version ${version} (chdb))\n`
  const code = Number(/Code: (\d+)/.exec(text)?.[1] ?? 1002)
  res.writeHead(statuses[code] ?? moreStatuses[code] ?? 500, {
    'content-type': 'text/plain; charset=UTF-8',
    'x-clickhouse-exception-code': String(code),
  })
  res.end(text)
}

const isAllowed = (req, query) => {
  if (account === undefined) return true
  const basic = /^Basic (.+)$/.exec(req.headers.authorization ?? '')?.[1]
  const named = `${req.headers['x-clickhouse-user'] ?? query.get('user')}:${req.headers['x-clickhouse-key'] ?? query.get('password')}`
  const claimed = Buffer.from(basic === undefined ? named : Buffer.from(basic, 'base64').toString())
  const expected = Buffer.from(account)
  return claimed.length === expected.length && timingSafeEqual(claimed, expected)
}

const readBody = async (req) => {
  const chunks = []
  let size = 0
  for await (const chunk of req) {
    size += chunk.length
    if (size > bodyBytesMax) throw fault(307, `Body above ${bodyBytesMax} bytes`, 'TOO_MANY_BYTES')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Settings and parameters as one SET. chdb's own API for parameters holds one lock for the process; `SET param_x` does
 * not. Values of parameters arrive escaped as in TSV, and the engine reads them so.
 */
const settingsOf = (req, query, queryId) => {
  const sets = [`log_comment=${quoted(queryId)}`]
  if (req.method === 'GET') sets.push('readonly=2')
  // In this version `insert_deduplicate = 0` alone does not turn it off.
  if (given['ignore-tokens']) sets.push("deduplicate_insert='disable'")
  for (const [name, value] of query) {
    if (callNames.has(name)) continue
    if (given['ignore-tokens'] && /dedupl/.test(name)) continue
    if (!/^\w+$/.test(name)) throw fault(115, `Unknown setting '${name}'`, 'UNKNOWN_SETTING')
    sets.push(`${name}=${quoted(value)}`)
  }
  return `SET ${sets.join(', ')}`
}

const insertPattern =
  /^\s*INSERT\s+INTO\s+((?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))?)\s*(?:\(([^)]*)\))?\s*FORMAT\s+(\w+)\s*;?\s*$/i
const bare = (name) => name.trim().replaceAll('`', '')

/** As one statement of the engine: chdb's insert of a stream makes several, and a token would drop all but the first. */
const insert = async (session, sql, body) => {
  const [, table, columns, format] = insertPattern.exec(sql) ?? []
  if (table === undefined)
    throw fault(62, 'Syntax error: an insert with a body must name a table and a format', 'SYNTAX_ERROR')
  const done = await session.insert({
    table: bare(table),
    ...(columns === undefined ? {} : { columns: columns.split(',').map(bare) }),
    format,
    values: body,
  })
  await setTimeout(Number(given['answer-delay-ms']))
  return { written_rows: done.rowsWritten, written_bytes: done.bytesWritten, elapsed: done.elapsed }
}

const summaryOf = ({ elapsed = 0, ...counts }) =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries({
        read_rows: 0,
        read_bytes: 0,
        written_rows: 0,
        written_bytes: 0,
        total_rows_to_read: 0,
        result_rows: 0,
        result_bytes: 0,
        ...counts,
        elapsed_ns: Math.round(elapsed * 1e9),
      }).map(([name, value]) => [name, String(value)]),
    ),
  )

const run = async (session, { sql, body, isInsert, format }) => {
  if (isInsert && body.length > 0)
    return { summary: await insert(session, sql, body), bytes: Buffer.alloc(0) }
  // Whole and not streamed: chdb repeats the header of CSV and of JSON in every chunk of a stream.
  const result = await session.queryAsync(sql, { format })
  return {
    summary: { read_rows: result.rowsRead, read_bytes: result.bytesRead, elapsed: result.elapsed },
    bytes: Buffer.from(result.bytes()),
  }
}

const answer = async (req, res) => {
  const { pathname, searchParams: query } = new URL(req.url, 'http://server')
  if (pathname === '/ping') return void res.end('Ok.\n')
  if (pathname !== '/') return void res.writeHead(404).end(`There is no handle ${pathname}\n`)
  if (!isAllowed(req, query)) throw fault(516, 'Authentication failed', 'AUTHENTICATION_FAILED')
  const body = req.method === 'POST' ? await readBody(req) : Buffer.alloc(0)
  const inUrl = query.get('query')
  const sql = (inUrl ?? body.toString()).trim().replace(/;\s*$/, '')
  if (sql === '') throw fault(62, 'Syntax error: Empty query', 'SYNTAX_ERROR')
  const queryId = query.get('query_id') ?? randomUUID()
  const format =
    /\bFORMAT\s+(\w+)\s*$/i.exec(sql)?.[1] ??
    query.get('default_format') ??
    req.headers['x-clickhouse-format'] ??
    'TSV'
  // A session of its own for each call (0.45 ms): settings of an earlier call would stay in force.
  const session = new Session(folder)
  let isDone = false
  // A caller that went away frees the engine. The engine knows the query by its comment only.
  res.on('close', () => {
    if (isDone) return
    const statement = `KILL QUERY WHERE Settings['log_comment'] = ${quoted(queryId)} ASYNC`
    root.queryAsync(statement).catch((error) => console.error(`kill of ${queryId}: ${error.message}`))
  })
  try {
    const database = query.get('database') ?? req.headers['x-clickhouse-database']
    if (database && database !== 'default') await session.queryAsync(`USE \`${bare(database)}\``)
    await session.queryAsync(settingsOf(req, query, queryId))
    const isInsert = inUrl !== null && /^\s*INSERT\b/i.test(sql)
    const { summary, bytes } = await run(session, { sql, body, isInsert, format })
    res.writeHead(200, {
      'x-clickhouse-query-id': queryId,
      'x-clickhouse-format': format,
      'x-clickhouse-timezone': 'UTC',
      'x-clickhouse-summary': summaryOf(summary),
    })
    res.end(bytes)
  } finally {
    isDone = true
    session.close()
  }
}

const server = createServer((req, res) => {
  answer(req, res).catch((error) => fail(res, error))
})
server.keepAliveTimeout = 10_000
server.listen(Number(given.port), '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}`, version }))
})
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, () => {
    server.close(() => {
      root.close()
      process.exit(0)
    })
    server.closeAllConnections()
  })
