import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { seedList } from '../../server/test/fixtures/lists/rows.ts'

const harness = await startHarness()
const url = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const agent = await harness.register('test')
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

const pohf = async (...parameters: readonly string[]) => {
  const child = spawn(process.execPath, [main, ...parameters], {
    env: { ...inheritedEnvironment, POHF_KEY: agent.apiKey, POHF_URL: url },
  })
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}

test('credentials, sessions, requests and usage are listed from the command line', async () => {
  assert.match((await pohf('credentials', 'list')).out, /^No credential\./)
  const minted = await harness.call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId: 'visit-1' },
  })
  const { credentialId } = minted.json
  const table = await pohf('credentials', 'list', '--kind', 'view')
  assert.equal(table.code, 0, table.err)
  assert.match(
    table.out,
    new RegExp(`^ISSUED +CREDENTIAL +KIND[^\\n]*\\n\\S+Z  ${credentialId}  view  active  low`),
  )
  const sessions = JSON.parse((await pohf('sessions', 'list', '--json', '--verified', 'true')).out)
  assert.deepEqual([sessions.sessions.length, sessions.sessions[0].credentialId], [1, credentialId])
  const requestId = minted.headers['x-request-id'] ?? ''
  const requests = await pollUntil('the request', async () => {
    const { out } = await pohf('requests', 'list', '--request-id', requestId)
    return out.includes(requestId) && out
  })
  assert.match(requests, /POST +credentials\.verify +200 +- +\d+ +key_/)
  const usage = await pohf('usage')
  assert.match(usage.out, /\ntotal +1 +1 +1 +0 +1\n/)
  assert.match(usage.out, /0 credits left, 0\.14 spent a day\n$/)
})

test('a list of more rows than a page is read page by page, and continued by its cursor', async () => {
  const newest = new Date(Date.now() - 3_600_000)
  const rows = { agentId: agent.agentId, mode: 'test', newest, count: 260, stepMs: 5 } as const
  const ids = await seedList(harness.owner, 'sessions', rows)
  const until = new Date(newest.getTime() + 1).toISOString()
  const read = async (...parameters: string[]) => {
    const { out, err } = await pohf('sessions', 'list', '--json', '--until', until, ...parameters)
    assert.equal(err, '')
    const { sessions, nextCursor } = JSON.parse(out)
    return { ids: sessions.map(({ sessionId }: { sessionId: string }) => sessionId), nextCursor }
  }
  const first = await read('--limit', '150')
  assert.deepEqual(first.ids, ids.slice(0, 150))
  const rest = await read('--limit', '150', '--cursor', first.nextCursor)
  assert.deepEqual([rest.ids, rest.nextCursor], [ids.slice(150), null])
  const refused = await pohf('sessions', 'list', '--cursor', first.nextCursor)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /query\.cursor: must be a nextCursor/)
})
