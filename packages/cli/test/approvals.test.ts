import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { decodeUnverified } from '@pohf/verify'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'

const harness = await startHarness()
const url = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const agent = await harness.register('test')
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pohf-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))

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
const fileOf = (name: string, content: string): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
const payment = fileOf('payment.json', '{"amount":"120.00","to":"DE02\\u001b[2J"}')
const type = 'test.invoice_pay'
const request = async (approver: string, ...more: readonly string[]) =>
  pohf('approvals', 'request', type, '--action', payment, '--approvers', approver, ...more)

const keys = await harness.call('GET', '/.well-known/jwks.json')
const issuerOf = (jwt: string): string => String(decodeUnverified(jwt)?.['iss']).replace(/\/test$/, '')
const jwks = fileOf('jwks.json', JSON.stringify(keys.json))

const verifyCredential = (jwt: string, issuer: string, envelope: string) => {
  const policy = ['--kinds', 'approval', '--min-assurance', 'low', '--min-quality', '0', '--status', 'skip']
  const files = ['--jwks', jwks, '--envelope', envelope]
  return pohf('verify', jwt, '--issuer', issuer, ...policy, ...files, '--allow-test')
}

test('an approval is requested, shown, verified and consumed from the command line', async () => {
  const asked = await request('apv_test_approves', '--json')
  assert.equal(asked.code, 0, asked.err)
  const { approvalId, envelopeHash, decisions } = JSON.parse(asked.out)
  const issuer = issuerOf(decisions[0].pohf_jwt)
  const shown = await pohf('approvals', 'show', approvalId)
  assert.match(shown.out, /approved {2}test\n/)
  assert.match(shown.out, /\/amount: 120\.00\n/)
  assert.ok(!shown.out.includes('\u001b'), 'a control character reached the terminal')
  assert.match(shown.out, /U\+001B/)

  const file = fileOf('approval.json', (await pohf('approvals', 'show', approvalId, '--json')).out)
  const verify = (...more: string[]) =>
    pohf(
      'approvals',
      'verify',
      file,
      '--issuer',
      issuer,
      '--audience',
      agent.agentId,
      '--type',
      type,
      '--quorum',
      '1',
      '--status',
      'skip',
      '--jwks',
      jwks,
      ...more,
    )
  const wanted = ['--action', payment, '--approvers', 'apv_test_approves']
  const verified = await verify(...wanted, '--allow-test')
  assert.equal(verified.code, 0, verified.out + verified.err)
  assert.match(verified.out, /^Approved by apv_test_approves/)
  assert.match((await verify(...wanted)).out, /^Refused: test_credential/)
  const other = fileOf('other.json', '{"amount":"1200.00","to":"DE02"}')
  const wrong = await verify('--action', other, '--approvers', 'apv_test_approves', '--allow-test')
  assert.deepEqual([wrong.code, wrong.out.slice(0, 21)], [1, 'Refused: wrong_action'])

  const credential = await verifyCredential(decisions[0].pohf_jwt, issuer, file)
  assert.equal(credential.code, 0, credential.out + credential.err)
  assert.match(credential.out, /The approver was shown this:/)

  const consumed = await pohf('approvals', 'consume', approvalId, '--envelope-hash', envelopeHash)
  assert.equal(consumed.code, 0, consumed.err)
  const again = await pohf('approvals', 'consume', approvalId, '--envelope-hash', envelopeHash)
  assert.equal(again.code, 1)
  const list = await pohf('approvals', 'list', '--status', 'consumed')
  assert.match(list.out, new RegExp(`${approvalId}  consumed +1 of 1 +${type}`))
})

test('approve shows the page, waits, and ends with the code of the decision', async () => {
  const pending = JSON.parse((await request('apv_test_silent', '--json')).out)
  const waiting = await pohf('approve', pending.approvalId, '--wait', '1')
  assert.equal(waiting.code, 3, waiting.err)
  assert.match(waiting.out, /A terminal cannot decide/)
  assert.ok(waiting.out.includes(`${url}/approve/${pending.approvalId}`))
  const denied = JSON.parse((await request('apv_test_denies', '--json')).out)
  assert.equal((await pohf('approve', denied.approvalId)).code, 1)
  const approved = JSON.parse((await request('apv_test_approves', '--json')).out)
  assert.equal((await pohf('approve', approved.approvalId, '--json')).code, 0)
})

test('wrong calls say what is wrong', async () => {
  const twice = fileOf('twice.json', '{"amount":"1","\\u0061mount":"2"}')
  const duplicate = await pohf(
    'approvals',
    'request',
    type,
    '--action',
    twice,
    '--approvers',
    'apv_test_silent',
  )
  assert.equal(duplicate.code, 2)
  assert.match(duplicate.err, /has the key "amount" twice/)
  const nobody = await pohf('approvals', 'request', type, '--action', payment)
  assert.equal(nobody.code, 2)
  assert.match(nobody.err, /--approvers or --group/)
})
