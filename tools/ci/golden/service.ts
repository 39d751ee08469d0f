// Golden files of the whole service in this process, on a migrated database of its own: what a caller, an operator or a
// monitoring system sees of it, and the schema itself.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endpoints, operatorEndpoints, type Endpoint } from '../../../packages/protocol/src/index.ts'
import { createDatabase, startCluster } from '../../../packages/server/dev/cluster.ts'
import { buildApp, buildContext, buildJobs, type App } from '../../../packages/server/src/wiring/index.ts'
import { readConfig } from '../../../packages/server/src/platform/ops/config.ts'
import type { Ctx } from '../../../packages/server/src/platform/ops/context.ts'
import { makeLogger } from '../../../packages/server/src/platform/ops/log.ts'
import { migrate } from '../../../packages/server/src/platform/db/migrate.ts'
import { dumpSchema, type SchemaDump } from '../../../packages/server/test/architecture/schema-dump.ts'
import { jsonText, linesText } from './compare.ts'
import { fixedMasterKey } from './secrets.ts'

type Listener = App['api']

/** Partitions are named by their time: events_2026_11, track_events_2026_11_15. */
const isPartition = /_\d{4}_\d{2}(_\d{2})?\b/

/** Rows of the dump as lines; PostgreSQL 18 lists NOT NULL among the constraints, older ones do not. */
const schemaText = (dump: SchemaDump): string =>
  Object.entries(dump)
    .map(([part, rows]) => {
      const lines = rows
        .map((row) => Object.values(row).map(String))
        .filter((values) => !values.slice(0, 2).some((value) => isPartition.test(value)))
        .filter((values) => part !== 'constraints' || !values.at(-1)?.startsWith('NOT NULL'))
        .map((values) => values.join(' | ').trimEnd())
      // Positions of columns are numbers: the dump is in their order already.
      return `## ${part}\n\n${(part === 'columns' ? lines : lines.toSorted()).join('\n')}\n`
    })
    .join('\n')

const host = { host: 'pohf.example' }
const baseUrl = 'https://pohf.example'
const now = new Date('2026-01-01T00:00:00.000Z')

/** Everything that can be switched on is, so that every job, page and rail is there. Nobody listens at these addresses. */
const environmentIn = (folder: string, databaseUrl: string): Record<string, string> => {
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, 'master.key'), `${fixedMasterKey.toString('base64url')}\n`)
  writeFileSync(join(data, 'gas-keys'), `0x${'01'.repeat(32)}\n`)
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: data,
    BASE_URL: baseUrl,
    SMTP_URL: 'smtp://127.0.0.1:9',
    STRIPE_SECRET_KEY: `sk_test_${'a'.repeat(24)}`,
    STRIPE_WEBHOOK_SECRET: `whsec_${'a'.repeat(32)}`,
    X402_CHAIN_RPC: 'http://127.0.0.1:9',
    X402_PAY_TO: `0x${'02'.repeat(20)}`,
    X402_GAS_KEYS_FILE: join(data, 'gas-keys'),
  }
}

type Called = { readonly endpoint: string; readonly status: number }

/** The labels under which requests were counted since the last look. */
const takeCounted = async ({ metrics }: Ctx): Promise<Called[]> => {
  const { values } = await metrics.requests.get()
  metrics.requests.reset()
  return values
    .filter((value) => value.metricName?.endsWith('_count'))
    .map(({ labels }) => ({ endpoint: String(labels.endpoint), status: Number(labels.status) }))
}

const policyOf = (header: unknown): string => (typeof header === 'string' ? header : '')

/** Calls every row without a key: under which name it is counted, and by which limit of the address. */
const rowsOf = async (ctx: Ctx, listener: Listener, rows: readonly Endpoint[]): Promise<string[]> => {
  const lines: string[] = []
  for (const { method, path } of rows) {
    await takeCounted(ctx)
    const answer = await listener.inject({
      method,
      url: path.replaceAll(/\{\w+\}/g, 'x'),
      headers: host,
      ...(method === 'GET' ? {} : { payload: {} }),
    })
    // The hook that counts runs after the answer is out.
    await new Promise((resolve) => setImmediate(resolve))
    const names = [...new Set((await takeCounted(ctx)).map(({ endpoint }) => endpoint))].toSorted()
    lines.push(`${method} ${path}\t${names.join(' ')}\t${policyOf(answer.headers['ratelimit-policy'])}`)
  }
  return lines
}

type ToolList = { readonly result: { readonly tools: readonly { readonly name: string }[] } }

const askMcp = async (listener: Listener, url: string, method: string, params: object = {}) => {
  const payload = { jsonrpc: '2.0', id: 1, method, params }
  return (await listener.inject({ method: 'POST', url, headers: host, payload })).json<ToolList>()
}

const mcpPaths = ['/mcp', '/mcp/identity'] as const

const mcpText = async (listener: Listener): Promise<string> => {
  const surfaces: Record<string, unknown> = {}
  for (const path of mcpPaths)
    surfaces[path] = {
      initialize: await askMcp(listener, path, 'initialize', { protocolVersion: '2025-11-25' }),
      tools: await askMcp(listener, path, 'tools/list'),
    }
  return jsonText(surfaces)
}

/** A tool calls operations inside the process; they are counted under their own names. */
const toolLines = async (ctx: Ctx, listener: Listener): Promise<string[]> => {
  const lines: string[] = []
  for (const path of mcpPaths) {
    const { result } = await askMcp(listener, path, 'tools/list')
    for (const { name } of result.tools) {
      await takeCounted(ctx)
      // What one tool needs the others leave out.
      const given = { workflowId: 'wf_x', sessionId: 'ses_x', credential: 'x' }
      await askMcp(listener, path, 'tools/call', { name, arguments: given })
      await new Promise((resolve) => setImmediate(resolve))
      const names = [...new Set((await takeCounted(ctx)).map(({ endpoint }) => endpoint))].toSorted()
      lines.push(`${path} ${name}\t${names.join(' ')}`)
    }
  }
  return lines
}

/** Every route of a listener but the files of the built pages, whose names hold a hash. The router prints a tree. */
const routeLines = (name: string, listener: Listener): string[] => {
  const above: string[] = []
  return listener
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] = /^([│ ]*)[├└]── (.*?)(?: \((.*)\))?$/.exec(line) ?? []
      const depth = indent.length / 4
      above.splice(depth, Infinity, part)
      const path = above.join('')
      return methods === undefined || /-[\w-]{8}\.(js|css)$/.test(path)
        ? []
        : [`${name}\t${path}\t${methods}`]
    })
}

/** Names and labels of our metrics; those of the process itself come from the library. */
const metricLines = ({ metrics }: Ctx): string[] =>
  metrics.registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('pohf_'))
    .map((metric) => {
      const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : []
      return `${metric.name}\t${String(metric.type)}\t${labels.join(' ')}`
    })

const topicLines = async (ctx: Ctx, operator: Listener): Promise<string[]> => {
  await operator.inject({ method: 'GET', url: '/metrics' })
  const { values } = await ctx.metrics.outboxAge.get()
  return values.map(({ labels }) => `outbox topic\t${labels.topic}`)
}

const serviceTexts = async (ctx: Ctx): Promise<[string, string][]> => {
  const app = buildApp(ctx)
  await Promise.all([app.api.ready(), app.operator.ready(), app.start()])
  try {
    const manifest = await app.api.inject({ url: '/api/agents/discovery', headers: host })
    const rows = [
      ...(await rowsOf(ctx, app.api, endpoints)),
      ...(await rowsOf(ctx, app.operator, operatorEndpoints)),
      ...(await toolLines(ctx, app.api)),
    ]
    return [
      ['manifest.json', jsonText(manifest.json())],
      ['mcp.json', await mcpText(app.api)],
      ['rows.tsv', linesText(rows)],
      ['routes.tsv', linesText([...routeLines('api', app.api), ...routeLines('operator', app.operator)])],
      ['metrics.tsv', linesText(metricLines(ctx))],
      [
        'jobs.tsv',
        linesText([
          ...(await topicLines(ctx, app.operator)),
          ...buildJobs(ctx).map(({ name, everyMs }) => `job\t${name}\t${everyMs} ms`),
        ]),
      ],
    ]
  } finally {
    await Promise.all([app.api.close(), app.operator.close()])
  }
}

export const serviceFiles = async (): Promise<[string, string][]> => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-golden-'))
  const cluster = await startCluster({ folder })
  try {
    const url = await createDatabase(cluster, 'pohf')
    await migrate(url)
    const schema = schemaText(await dumpSchema(url))
    const config = readConfig(environmentIn(folder, url))
    const ctx = buildContext({
      config,
      log: makeLogger('silent'),
      clock: { now: () => now },
      name: 'pohf-golden',
    })
    try {
      return [['schema.txt', schema], ...(await serviceTexts(ctx))]
    } finally {
      await ctx.db.pool.end()
    }
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
