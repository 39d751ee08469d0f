import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { playSession } from '../../server/test/fixtures/people/play-session.ts'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const harness = await startHarness()
const { agentId, apiKey } = await harness.register('test')
const url = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const openWith = async (environment: Record<string, string>, parameters: readonly string[]) => {
  const child = spawn(process.execPath, [main, 'sessions', 'open', ...parameters], {
    env: { ...inheritedEnvironment, POHF_URL: url, ...environment },
  })
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}

const open = (...parameters: readonly string[]) => openWith({ POHF_KEY: apiKey }, parameters)

test('a recording is checked from the command line, and a change in the database is detected', async () => {
  const { sessionId } = await playSession(harness, { site: agentId })
  const opened = await open(sessionId)
  assert.equal(opened.code, 0, opened.err)
  const chunks = Number(/Whole: (\d+) chunks/.exec(opened.out)?.[1])
  assert.ok(chunks > 2, opened.out)
  assert.equal(JSON.parse((await open(sessionId, '--json')).out).records.length, chunks)

  await harness.owner.query(
    'update session_chunks set ciphertext = set_byte(ciphertext, 20, (get_byte(ciphertext, 20) + 1) % 256) where session_id = $1 and seq = 2',
    [sessionId],
  )
  const changed = await open(sessionId)
  assert.equal(changed.code, 1)
  assert.match(changed.out, /chunk 2: not_included/)

  const unknown = /^No such session, or its recording is incomplete\. \(not_found\)\nFix: /
  for (const name of ['POHF_KEY', 'POHF_API_KEY']) {
    const { code, err } = await openWith({ [name]: apiKey }, ['ses_none'])
    assert.equal(code, 1, name)
    assert.match(err, unknown, name)
  }
  const keyless = await openWith({}, ['ses_none'])
  assert.equal(keyless.code, 2)
  assert.match(keyless.err, /^An API key is needed: --key or POHF_KEY\.\nFix: Get a free test key/)
})
