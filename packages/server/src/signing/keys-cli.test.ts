import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHarness } from '../../test/fixtures/harness.ts'
import * as operators from '../operators/index.ts'

const harness = await startHarness()
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const url = await harness.app.operator.listen({ host: '127.0.0.1', port: 0 })
const program = fileURLToPath(new URL('../../../cli/src/main.ts', import.meta.url))

const pohf = async (...parameters: string[]) => {
  const child = spawn(process.execPath, [program, 'keys', ...parameters, '--url', url], {
    env: { ...process.env, POHF_OPERATOR_KEY: operatorKey },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const output = await text(child.stdout)
  return { code: await ended, answer: output === '' ? undefined : JSON.parse(output) }
}

test('an operator lists, rotates, revokes and checks keys from the command line', async () => {
  const listed = await pohf('list')
  assert.equal(listed.code, 0)
  const live = listed.answer.keys.find((key: { purpose: string }) => key.purpose === 'live')
  assert.equal(live.state, 'active')

  const onchain = await pohf('onchain')
  assert.equal(onchain.code, 0)
  assert.equal(onchain.answer.keys.length, 1, 'the test key is not for chains')
  assert.match(onchain.answer.keys[0].addKey, /^0x[0-9a-f]{8}/)

  const rotated = await pohf('rotate', 'live')
  assert.equal(rotated.code, 0)
  assert.match(rotated.answer.pendingKid, /^[\w-]{43}$/)

  assert.equal((await pohf('revoke', live.kid)).code, 2, 'a reason is required')
  assert.equal((await pohf('revoke', live.kid, '--reason', 'drill')).code, 0)
  const states = new Map(
    (await pohf('list')).answer.keys.map((key: { kid: string; state: string }) => [key.kid, key.state]),
  )
  assert.deepEqual([states.get(live.kid), states.get(rotated.answer.pendingKid)], ['revoked', 'active'])
  assert.equal((await pohf('revoke', live.kid, '--reason', 'again')).code, 1)
  assert.equal((await pohf('rotate', 'root')).code, 1)

  const checked = await pohf('check')
  assert.deepEqual([checked.code, checked.answer.ok, checked.answer.stored], [0, true, 0])
})

test('a check that finds a difference ends with 1', async () => {
  const { apiKey: key } = await harness.register('test')
  await harness.call('POST', '/api/agents/verify', { key, body: { sessionId: 'any' } })
  await harness.owner.query(
    `insert into credentials (agent_id, credential_id, at, mode, kind, expires_at, jwt, answer, status_list, status_idx)
     select agent_id, 'crd_forged', at, mode, kind, expires_at, jwt, answer, status_list, status_idx from credentials`,
  )
  const { code, answer } = await pohf('check')
  assert.deepEqual([code, answer.differences], [1, [{ credentialId: 'crd_forged', fault: 'not_journaled' }]])
})
