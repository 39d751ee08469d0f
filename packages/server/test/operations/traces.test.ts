import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { spanAttributes } from '../../src/platform/ops/tracing/spans.ts'
import { freePort } from '../../dev/cluster.ts'
import { startCollector, treeOf, type ReceivedSpan } from '../fixtures/collector.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { readExpressions, unknownNames } from '../fixtures/metric-names.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { callOver } from '../fixtures/processes/attacked-server.ts'
import { mainFile, startMain, startNode, type RunningProcess } from '../fixtures/processes/child-processes.ts'
import { respondWith, startReceiver } from '../fixtures/webhook-receiver.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-traces-'))
const { url: databaseUrl, drop } = await makeDatabase()
const collector = await startCollector()
after(collector.stop)
const receiver = await startReceiver()
const port = await freePort()
const environment = {
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  PORT: String(port),
  OPERATOR_PORT: String(await freePort()),
  METRICS_PORT: '0',
  // With a mail server, even one that is away, mails have a metric.
  SMTP_URL: 'smtp://127.0.0.1:1',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
}
const start = (role: string): RunningProcess => startMain([role], environment)
const signer = start('signer')
const api = start('api')
const worker = start('worker')
after(async () => {
  // The api first: a signer waits for the processes that are connected to it.
  for (const run of [api, worker, signer]) {
    run.child.kill('SIGTERM')
    await run.exited
  }
  await drop()
  rmSync(folder, { recursive: true, force: true })
})

type LogLine = { readonly msg: string; readonly traceId?: string; readonly [field: string]: unknown }
const linesOf = (run: RunningProcess): LogLine[] =>
  run
    .out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine)
const findLine = (run: RunningProcess, message: string) => linesOf(run).findLast(({ msg }) => msg === message)

/** Names that are not in the closed lists, and texts that a library added as events. */
const attributeFaults = (spans: readonly ReceivedSpan[]): string[] =>
  spans.flatMap((span) => [
    ...Object.keys(span.attributes).filter((name) => !(spanAttributes as readonly string[]).includes(name)),
    ...span.resourceAttributes.filter((name) => name !== 'service.name'),
    ...(span.events > 0 ? [`${span.events} events of ${span.name}`] : []),
  ])

const call = callOver(`http://127.0.0.1:${port}`)
const traceOf = (requestId: string): readonly ReceivedSpan[] => {
  const root = collector.spans.find(({ attributes }) => attributes['pohf.request_id'] === requestId)
  return collector.spans.filter(({ traceId }) => traceId === root?.traceId)
}
/** Each process sends its spans within a second, a child sometimes before its parent; these are the last of each. */
const lastSpans = ['credentials.verify', 'signer operation', 'webhook delivery']
/** A batch of the outbox may hold rows of several requests: it is below the first, and linked with the others. */
const outboxBatchOf = (trace: readonly ReceivedSpan[]): ReceivedSpan | undefined =>
  collector.spans.find(
    ({ name, traceId, linkedTraces }) =>
      name === 'outbox batch' && [traceId, ...linkedTraces].includes(trace[0]?.traceId ?? ''),
  )
let apiKey = ''
let requestId = ''
let trace: readonly ReceivedSpan[] = []

test('one verify is one trace across api, signer and worker, down to the webhook', async () => {
  const isReady = () =>
    call('GET', '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    )
  await pollUntil('ready', isReady, 120_000)
  const { json: agent } = await call('POST', '/api/agents/register', {
    body: { name: 'Traced', contactEmail: 'traced@person.example', mode: 'test' },
  })
  apiKey = agent.apiKey
  const endpoint = { url: receiver.url, events: ['credential.issued'] }
  await call('POST', '/api/agents/webhooks', { key: agent.apiKey, body: endpoint })
  // The first attempt fails, so that the worker logs it.
  receiver.respond = respondWith(500)
  const stranger = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const verified = await call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId: 'ses_traced_person' },
    headers: { traceparent: stranger },
  })
  assert.equal(verified.status, 200, verified.text)
  requestId = String(verified.headers['x-request-id'])
  const readWholeTrace = async () => {
    const spans = traceOf(requestId)
    const hasLast = lastSpans.every((last) => spans.some(({ name }) => name === last)) && outboxBatchOf(spans)
    const hasParents = treeOf(spans).length === spans.length
    return hasLast && hasParents && spans
  }
  // Ready says nothing about the worker, which may start later on a busy machine.
  trace = await pollUntil('the trace is whole', readWholeTrace, 120_000)

  assert.deepEqual([...new Set(trace.map(({ service }) => service))].toSorted(), [
    'pohf-api',
    'pohf-signer',
    'pohf-worker',
  ])
  const tree = treeOf(trace).map((line) => line.replace(/, [\d.]+ ms\)/, ')'))
  const expected = [
    'credentials.verify (pohf-api)',
    '  verify batch (pohf-api)',
    '    signer request (pohf-api)',
    '      signer operation (pohf-signer)',
    '      webhook delivery (pohf-worker)',
  ]
  assert.equal(outboxBatchOf(trace)?.service, 'pohf-worker')
  for (const line of expected)
    assert.ok(tree.includes(line), `${line} is not in\n${treeOf(trace).join('\n')}`)
  assert.ok(!collector.spans.some(({ traceId }) => traceId === 'a'.repeat(32)), 'a client sets no trace id')
  if (process.env['POHF_SHOW_TRACE']) process.stderr.write(`${treeOf(trace).join('\n')}\n`)
})

test('no receiver of a webhook gets a trace id', () => {
  assert.ok(receiver.received.length > 0)
  for (const { headers, body } of receiver.received) {
    assert.deepEqual(
      Object.keys(headers).filter((name) => /trace|b3|baggage/.test(name)),
      [],
    )
    assert.ok(!body.includes(trace[0]?.traceId ?? 'none'))
  }
})

test('a batch of several calls is linked with each of their traces, and they with it', async () => {
  receiver.respond = respondWith(204)
  const calls = Array.from({ length: 40 }, (_, n) =>
    call('POST', '/api/agents/verify', { key: apiKey, body: { sessionId: `ses_crowd_${n}` } }),
  )
  for (const { status } of await Promise.all(calls)) assert.equal(status, 200)
  const { batch, requests } = await pollUntil('a batch and its requests are sent', async () => {
    const batch = collector.spans.find(
      ({ name, linkedTraces }) => name === 'verify batch' && linkedTraces.length > 0,
    )
    const requests = collector.spans.filter(
      ({ traceId, parentId }) => parentId === undefined && batch?.linkedTraces.includes(traceId),
    )
    return batch && requests.length === batch.linkedTraces.length && { batch, requests }
  })
  assert.equal(batch.attributes['pohf.batch_size'], batch.linkedTraces.length + 1)
  for (const { linkedTraces } of requests) assert.deepEqual(linkedTraces, [batch.traceId])
})

test('spans have the attributes of the closed list and no others', async () => {
  assert.ok(collector.spans.length >= 20, `${collector.spans.length} spans`)
  assert.deepEqual(attributeFaults(collector.spans), [])
  const sent = JSON.stringify(collector.spans, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  for (const personal of ['traced@person.example', 'ses_traced_person', 'agt_', '127.0.0.1', 'select '])
    assert.ok(!sent.includes(personal), `${personal} was sent to the collector`)

  // Planted: a collector that receives another attribute is a fault.
  const planted = { key: 'enduser.id', value: { stringValue: 'Ada' } }
  const span = { traceId: '1', spanId: '1', name: 'planted', startTimeUnixNano: '1', endTimeUnixNano: '1' }
  await fetch(`${collector.url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, attributes: [planted] }] }] }],
    }),
  })
  assert.deepEqual(attributeFaults(collector.spans), ['enduser.id'])
})

test('log lines of every process have the trace id, and the request id is in the trace', async () => {
  const { traceId = 'none' } = trace[0] ?? {}
  const ofApi = linesOf(api).find((line) => line['requestId'] === requestId)
  assert.equal(ofApi?.traceId, traceId)
  const isFailure = (line: LogLine) => line.msg === 'webhook delivery failed' && line.traceId === traceId
  await pollUntil('the worker logs', async () => linesOf(worker).some(isFailure))

  const socket = connect(join(folder, 'signer.sock'))
  const send = (request: object) => socket.write(`${JSON.stringify(request)}\n`)
  const failed = () => linesOf(signer).filter(({ msg }) => msg === 'signer request failed')
  send({ id: 1, op: 'unknown', trace: `00-${traceId}-${'c'.repeat(16)}-01` })
  // Whatever else a caller puts there is no trace, and does not reach the log.
  for (const trace of [
    '',
    7,
    {},
    `00-${traceId}-x-01`,
    `00-${traceId}-${'c'.repeat(16)}-01\n`,
    'x'.repeat(10_000),
  ])
    send({ id: 2, op: 'unknown', trace })
  const lines = await pollUntil('the signer logs', async () => failed().length >= 7 && failed())
  socket.destroy()
  assert.deepEqual(
    lines.map((line) => line.traceId),
    [traceId, ...Array.from({ length: 6 }, () => undefined)],
  )
})

const metricsOf = async (run: RunningProcess) => {
  const url = String(findLine(run, 'metrics listening')?.['url'])
  const response = await fetch(url)
  assert.equal(response.status, 200)
  return { url, text: await response.text() }
}

test('each process has a metrics listener of its own, which serves nothing else', async () => {
  const own = {
    api: 'pohf_ready',
    worker: 'pohf_job_success_timestamp_seconds',
    signer: 'pohf_signatures_total',
  }
  for (const [run, name] of [
    [api, own.api],
    [worker, own.worker],
    [signer, own.signer],
  ] as const) {
    const { url, text } = await metricsOf(run)
    assert.match(text, new RegExp(`^${name}`, 'm'))
    for (const path of ['/', '/operator/agents', '/metrics/x'])
      assert.equal((await fetch(new URL(path, url))).status, 404)
    assert.equal((await fetch(url, { method: 'POST' })).status, 404)
  }
})

test('every metric and label of the alerts and of the dashboard exists', async () => {
  const texts = await Promise.all([api, worker, signer].map(metricsOf))
  const exported = texts.map(({ text }) => text).join('\n')
  const expressions = readExpressions()
  assert.ok(expressions.length >= 50, `${expressions.length} expressions`)
  assert.deepEqual(
    expressions.flatMap((expression) => unknownNames(expression, exported)),
    [],
  )
  assert.deepEqual(unknownNames('rate(pohf_gone_total{check="none",topic="event"}[5m])', exported), [
    'pohf_gone_total',
    'check="none"',
  ])
})

test('without these settings a signer loads no code for traces, metrics or HTTP', async () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => (process.stderr.write('loads ' + name + '\\n'), next(name, context)) })`
  const run = startNode(
    ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, mainFile, 'signer'],
    { DATA_DIR: join(folder, 'quiet') },
  )
  await pollUntil('ready', async () => run.out().includes('signer ready'), 60_000)
  run.child.kill('SIGTERM')
  await run.exited
  const loaded = Array.from(run.errors().matchAll(/^loads (.*)$/gm), (match) => match[1] ?? '')
  assert.ok(loaded.length > 50, `${loaded.length} modules`)
  assert.deepEqual(
    loaded.filter((name) => /opentelemetry|prom-client|fastify|node:https?$|tracing-otlp/.test(name)),
    [],
  )
})
