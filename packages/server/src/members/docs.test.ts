import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import * as operators from '../operators/index.ts'
import { serverRoot } from '../../test/architecture/import-rules.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerConfirmedAgent } from '../../test/fixtures/people/member.ts'

const run = async (parameters: readonly string[]) => {
  const child = spawn(process.execPath, parameters)
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}

test('the script of docs/guides/members.md invites a member, and the command of the same page erases one', async () => {
  const harness = await startHarness()
  const { agentId, apiKey } = await registerConfirmedAgent(harness, 'live', 'docs@example.com')
  const base = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
  const page = readFileSync(join(serverRoot, '../../docs/guides/members.md'), 'utf8')
  const script = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const invited = await run(['--input-type=module', '--eval', script, '--', 'invite.mjs', base, apiKey])
  assert.equal(invited.code, 0, invited.err)
  const { memberId, enrolUrl, status, refused } = JSON.parse(invited.out)
  assert.match(memberId, /^mem_/)
  assert.match(enrolUrl, /^http:\/\/localhost:\d+\/m\/[\w-]{43}$/)
  assert.deepEqual([status, refused], ['invited', 'member_not_enrolled'])

  const url = await harness.app.operator.listen({ host: '127.0.0.1', port: 0 })
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  assert.match(page, /pohf members erase agt_… mem_… --reason/)
  const cli = join(serverRoot, '../cli/src/main.ts')
  const words = [
    'members',
    'erase',
    agentId,
    memberId,
    '--reason',
    'asked',
    '--url',
    url,
    '--key',
    operatorKey,
  ]
  const erased = await run([cli, ...words])
  assert.equal(erased.code, 0, erased.err)
  assert.deepEqual(JSON.parse(erased.out), { erased: true, memberships: 1 })
  const gone = await harness.call('GET', `/api/agents/members/${memberId}`, { key: apiKey })
  assert.equal(gone.status, 404)
})
