import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { serverRoot } from '../../test/architecture/import-rules.ts'
import { startHarness } from '../../test/fixtures/harness.ts'

const run = async (parameters: readonly string[]) => {
  const child = spawn(process.execPath, parameters)
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}
const pohf = (...parameters: readonly string[]) =>
  run([join(serverRoot, '../cli/src/main.ts'), ...parameters])

test('the script of docs/guides/sessions.md records a session, and the command of the same page checks it', async () => {
  const harness = await startHarness()
  const { agentId, apiKey } = await harness.register('test')
  const base = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
  const page = readFileSync(join(serverRoot, '../../docs/guides/sessions.md'), 'utf8')
  const script = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const recorded = await run(['--input-type=module', '--eval', script, '--', 'record.mjs', base, agentId])
  assert.equal(recorded.code, 0, recorded.err)
  const { sessionId, status, vt } = JSON.parse(recorded.out)
  assert.equal(status, 'scored')
  assert.match(vt, /^vt_/)

  const opened = await pohf('sessions', 'open', sessionId, '--url', base, '--key', apiKey)
  assert.equal(opened.code, 0, opened.err)
  assert.match(opened.out, /Whole: 3 chunks/)
  const told = await pohf('sessions', 'open', sessionId, '--url', base, '--key', apiKey, '--json')
  assert.equal(JSON.parse(told.out).records.length, 3)

  // A change in the database is detected.
  await harness.owner.query(
    'update session_chunks set ciphertext = set_byte(ciphertext, 20, (get_byte(ciphertext, 20) + 1) % 256) where session_id = $1 and seq = 2',
    [sessionId],
  )
  const changed = await pohf('sessions', 'open', sessionId, '--url', base, '--key', apiKey)
  assert.equal(changed.code, 1)
  assert.match(changed.out, /chunk 2: not_included/)

  const unknown = await pohf('sessions', 'open', 'ses_none', '--url', base, '--key', apiKey)
  assert.deepEqual([unknown.code, unknown.err], [1, 'No such session, or its recording is incomplete.\n'])
})
