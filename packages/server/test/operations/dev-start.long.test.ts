import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTransport } from 'nodemailer'
import { portsCount } from '../../dev/ports.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { findPortBlock } from '../../dev/free-ports.ts'
import { waitUntilFree } from '../fixtures/processes/port-block.ts'
import { childrenOf, isAlive, startNode } from '../fixtures/processes/child-processes.ts'

const main = fileURLToPath(new URL('../../../cli/src/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pohf-dev-start-'))
const dataDir = join(folder, 'data')
// As root, the cluster of dev is there.
const rootCluster = join(
  '/var/tmp',
  `pohf-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`,
)
after(() => {
  for (const path of [folder, rootCluster]) rmSync(path, { recursive: true, force: true })
})

/** What `npm run dev` runs, in a process group of its own, as a shell starts it. It builds no pages. */
const startDevWith = (settings: Record<string, string>, port: number, ...parameters: readonly string[]) =>
  startNode(
    [main, 'dev', '--no-pages', ...parameters],
    { PORT: String(port), DATA_DIR: dataDir, HOME: folder, ...settings },
    { detached: true },
  )
const startDev = (port: number, ...parameters: readonly string[]) => startDevWith({}, port, ...parameters)
type Run = ReturnType<typeof startDev>

const waitReady = (run: Run) =>
  pollUntil(
    'npm run dev is ready',
    async () => {
      if (run.child.exitCode !== null) throw new Error(`it ended: ${run.out()}${run.errors()}`)
      return run.out().includes('Ctrl-C stops everything.')
    },
    120_000,
  )

/** Dev ends after 1.7 s whatever hangs. A busy machine needs more, and without those limits it would take minutes or for ever. */
const endsWithinMs = 20_000

/**
 * Ctrl-C: the terminal signals every process of the group. Returns the milliseconds until dev has ended; then what it
 * printed is complete.
 */
const interrupt = async (run: Run): Promise<number> => {
  const startedAt = performance.now()
  process.kill(-run.pid, 'SIGINT')
  await pollUntil('dev ends', async () => run.child.exitCode !== null, endsWithinMs)
  const ms = performance.now() - startedAt
  await run.exited
  return ms
}

/** At the end of a test that failed: dev itself ends what it started. */
const endDev = async (run: Run): Promise<void> => {
  if (run.child.exitCode === null) await interrupt(run)
}

/** `--no-pages` leaves them as they are, and a checkout may have none. */
const withoutBuildWarnings = (out: string): string => out.replaceAll(/^.*(?:is|are) not built.*\n/gm, '')

const first = await findPortBlock(portsCount)

test('dev listens at PORT and the ports after it, prints what to open, and warns of nothing', async (t) => {
  const run = startDev(first)
  t.after(() => endDev(run))
  await waitReady(run)
  const out = withoutBuildWarnings(run.out())
  for (const [name, offset, path] of [
    ['Console', 0, '/console'],
    ['Verify', 0, '/verify'],
    ['Mails', 3, ''],
    ['Card simulator', 5, ''],
    ['API', 0, ''],
  ] as const)
    assert.ok(
      out.includes(`  ${name.padEnd(14)} http://127.0.0.1:${first + offset}${path}`),
      `${name}\n${out}`,
    )
  assert.ok(out.includes(`postgres://postgres@127.0.0.1:${first + 7}/pohf_dev`), out)
  assert.match(out, new RegExp(`  Operators {6}http://operators\\.localhost:${first + 1}/operator`))
  const [, operatorKey = ''] = /Operator key +(\S+)/.exec(out) ?? []
  const operators = await fetch(`http://127.0.0.1:${first + 1}/operator/operators`, {
    headers: { authorization: `Bearer ${operatorKey}` },
  })
  assert.equal(operators.status, 200, 'the printed key is one')
  assert.doesNotMatch(out, /Warning|"level":|\(node:\d+\)/)
  assert.equal(run.errors(), '')

  const taken = await startDev(first).exited.then((code) => code)
  assert.equal(taken, 1, 'a second start on the same ports is refused')

  const ms = await interrupt(run)
  t.diagnostic(`ended ${Math.round(ms)} ms after Ctrl-C`)
  assert.equal(withoutBuildWarnings(run.out()), out, 'the end prints nothing')
  assert.equal(run.errors(), '')
})

test('the limits for what dev stops at Ctrl-C add up to less than two seconds', () => {
  const source = readFileSync(new URL('../../dev/dev.ts', import.meta.url), 'utf8')
  const limits = [...source.matchAll(/^const (\w+)EndMs = ([\d_]+)$/gm)]
  assert.deepEqual(
    limits.map(([, what]) => what),
    ['clients', 'services'],
  )
  const inAll = limits.reduce((sum, [, , ms = '']) => sum + Number(ms.replaceAll('_', '')), 0)
  assert.ok(inAll < 2_000, `${inAll} ms`)
})

test('a port in use is named with the fix before anything starts', async () => {
  // On a busy machine PostgreSQL of the test before ends later than dev, which waits half a second for it.
  await waitUntilFree(first, portsCount)
  const other = createServer().listen(first + 3, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const run = startDev(first, '--no-chain')
  const code = await run.exited
  await new Promise((resolve) => other.close(resolve))
  assert.equal(code, 1)
  assert.equal(run.out(), '')
  assert.match(
    run.errors(),
    new RegExp(`another program uses port ${first + 3} \\(mails\\)\\.\nFix: stop it`),
  )
  assert.match(run.errors(), new RegExp(`PORT=${first + 100} npm run dev`))
  assert.doesNotMatch(run.errors(), /\n +at /)
})

/** The process of the server, which leads a group of its own. */
const findServer = (run: Run): number => {
  const [dev] = childrenOf(run.pid)
  const server = childrenOf(dev?.pid ?? 0).find(({ role }) => role.endsWith('server/src/main.ts'))
  assert.ok(server, 'dev runs a server')
  return server.pid
}

/** Stops every process of the server without ending it, as if all of them hung. Returns the server's process group. */
const hangServer = (run: Run): number => {
  const server = findServer(run)
  process.kill(-server, 'SIGSTOP')
  return server
}

/** Ctrl-C while the server hangs: it is killed. */
const interruptHung = async (run: Run): Promise<number> => {
  const server = hangServer(run)
  try {
    const ms = await interrupt(run)
    await pollUntil('the server is gone', async () => !isAlive(server))
    return ms
  } finally {
    if (isAlive(server)) process.kill(-server, 'SIGCONT')
  }
}

test('with --json, standard output is one object; mails are rendered by the catcher; a server that hangs is killed', async (t) => {
  const run = startDev(first, '--no-chain', '--json')
  t.after(() => endDev(run))
  await pollUntil('dev prints its object', async () => run.out().endsWith('\n'), 120_000)
  const started = JSON.parse(run.out())
  assert.deepEqual([started.ok, started.url], [true, `http://127.0.0.1:${first}`])
  const registered = await fetch(`${started.url}/api/agents/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ada', contactEmail: 'ada@example.com', mode: 'live' }),
  })
  assert.equal(registered.status, 200)
  const mail = await pollUntil('the mail', async () => {
    const mails = (await (await fetch(`${started.mails}/mails.json`)).json()) as Record<string, string>[]
    return mails.find(({ to }) => to?.[0] === 'ada@example.com')
  })
  const [link = ''] = /http:\/\/\S+token=\S+/.exec(mail['text'] ?? '') ?? []
  assert.ok(mail['html']?.includes(`<a href="${link}">`), mail['html'])
  assert.match(mail['raw'] ?? '', /^Content-Type: multipart\/alternative/m)
  const confirmation = await fetch(link)
  assert.equal(confirmation.status, 200, 'the link works as it is shown')
  const page = await (await fetch(started.mails)).text()
  assert.match(page, /To: ada@example\.com/)
  assert.match(page, /<iframe title="[^"]+" sandbox="allow-popups allow-popups-to-escape-sandbox"/)
  assert.ok(page.includes(`href=&quot;${link}&quot;`), 'the mail is in the frame')
  // A mail of somebody else is shown as text and cannot act on the page.
  const transport = createTransport({ port: first + 4, host: '127.0.0.1' })
  await transport.sendMail({
    from: 'x@example.com',
    to: 'y@example.com',
    subject: '<script>',
    text: '</pre><b>',
  })
  transport.close()
  assert.doesNotMatch(await (await fetch(started.mails)).text(), /<script|<\/pre><b>/)
  t.diagnostic(`ended ${Math.round(await interruptHung(run))} ms after Ctrl-C beside a server that hangs`)
})

test('a server that is killed after the start ends dev with the last lines of its log and code 1', async (t) => {
  await waitUntilFree(first, portsCount)
  const run = startDevWith({ LOG_LEVEL: 'info' }, first, '--no-chain')
  t.after(() => endDev(run))
  await waitReady(run)
  const server = findServer(run)
  const roles = childrenOf(server)
  assert.ok(roles.length >= 3, `${roles.length} roles`)
  process.kill(server, 'SIGKILL')
  assert.equal(await run.exited, 1)
  assert.match(
    run.errors(),
    /\nThe server ended with SIGKILL\. The last lines that it wrote:\n\n(?: {2}\{"level":.*\n)+/,
  )
  await pollUntil('the roles of the server are gone', async () => roles.every(({ pid }) => !isAlive(pid)))
})
