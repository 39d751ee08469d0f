import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { freePort } from '../../dev/cluster.ts'
import * as operators from '../../src/operators/index.ts'
import { makeKey } from '../../src/platform/ops/keys.ts'
import { makeToken, signToken } from '../../src/platform/ops/tokens.ts'
import { dumpTables, findLeakedSecrets } from './secret-leaks.ts'
import { linkOf, startMailbox } from '../fixtures/mailbox.ts'
import { startHarness } from '../fixtures/harness.ts'

const smtpPort = await freePort()
const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${smtpPort}` })
/** Everything in this run that nobody but its holder may ever read, by name. */
const secrets: Record<string, string> = {}
const dumps: string[] = []

const call = (path: string, body: unknown, key?: string, headers: Record<string, string> = {}) =>
  harness.call('POST', path, { body, headers, ...(key === undefined ? {} : { key }) })

/** A mail server that refuses each mail and quotes it, as spam filters do. */
const startQuotingServer = async (): Promise<{ stop: () => Promise<void>; refused: () => number }> => {
  let refused = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, callback) => {
      let raw = ''
      stream.on('data', (chunk: Buffer) => (raw += chunk.toString()))
      stream.on('end', () => {
        refused += 1
        const text = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=').replaceAll(/\s+/g, ' ')
        const quoted = /http\S+token=\S+/.exec(text)?.[0]
        callback(Object.assign(new Error(`spam: ${quoted} in ${text}`), { responseCode: 550 }))
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(smtpPort, '127.0.0.1', () => resolve()))
  return {
    refused: () => refused,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** Lives through registration, confirmation, rotation, recovery and suspension, collecting every secret shown. */
const runAgentLifecycle = async (): Promise<void> => {
  const quoting = await startQuotingServer()
  const agent = await harness.register('live', 'canary@example.com')
  secrets['registered key'] = agent.apiKey
  await harness.runJobs()
  assert.equal(quoting.refused(), 1, 'the mail was refused with its own text')
  await quoting.stop()
  dumps.push((await dumpTables(harness.owner)).text)

  const mailbox = await startMailbox(smtpPort)
  try {
    await harness.advance(6_000)
    await harness.runJobs()
    secrets['confirmation token'] = linkOf(mailbox.mails[0]).token
    await call('/api/agents/email/confirm', { token: secrets['confirmation token'] })

    const further = await call('/api/agents/keys', { scopes: ['keys'] }, agent.apiKey, {
      'idempotency-key': 'a',
    })
    secrets['further key'] = further.json.apiKey
    const rotated = await call('/api/agents/keys/rotate', {}, agent.apiKey, { 'idempotency-key': 'b' })
    secrets['rotated key'] = rotated.json.apiKey
    const replayed = await call('/api/agents/keys/rotate', {}, agent.apiKey, { 'idempotency-key': 'b' })
    assert.equal(replayed.text, rotated.text)

    await call('/api/agents/keys/recover', { contactEmail: 'canary@example.com' })
    dumps.push((await dumpTables(harness.owner)).text)
    await harness.runJobs()
    secrets['recovery token'] = linkOf(mailbox.mails[1]).token
    const recovered = await call('/api/agents/keys/recover/complete', { token: secrets['recovery token'] })
    secrets['recovered key'] = recovered.json.apiKey

    const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
    secrets['operator key'] = operatorKey
    const second = await harness.callOperator('POST', '/operator/operators', {
      key: operatorKey,
      body: { name: 'Bob' },
    })
    secrets['second operator key'] = second.json.operatorKey
    await harness.callOperator('POST', `/operator/agents/${agent.agentId}/suspend`, {
      key: operatorKey,
      body: { suspended: true, reason: 'canary' },
    })
  } finally {
    await mailbox.stop()
  }
}

/** Provokes every kind of refusal and fault with a secret in each place a caller can put one. */
const provokeErrors = async (secret: string): Promise<void> => {
  for (const authorization of [
    `Bearer ${secret}`,
    `Bearer ${secret} x`,
    `Basic ${secret}`,
    secret,
    `Bearer x${secret}`,
  ])
    for (const [method, path] of [
      ['GET', '/api/agents/me'],
      ['POST', '/api/agents/keys/rotate'],
      ['GET', `/nowhere?key=${secret}`],
      ['GET', `/agents/confirm?token=${secret}`],
      ['GET', `/%zz${secret}`],
      ['DELETE', `/api/agents/keys?key=${secret}`],
    ] as const)
      await harness.call(method, path, { headers: { authorization } })
  for (const raw of [`{"token":"${secret}"}`, `{"token":"${secret}`, `{"${secret}":1}`])
    for (const path of [
      '/api/agents/email/confirm',
      '/api/agents/keys/recover/complete',
      '/api/agents/register',
    ])
      await harness.call('POST', path, { raw })
  await harness.callOperator('POST', `/operator/agents/${secret}/suspend`, {
    key: secret,
    body: { suspended: true, reason: 'x' },
  })
  await harness.callOperator('GET', `/operator/audit?after=${secret}`, { key: secret })
}

test('no key or mailed token is ever in the log or at rest, through use, refusals and faults', async (t) => {
  await runAgentLifecycle()
  secrets['unknown key'] = makeKey('svc_live_', 'aa')
  for (const secret of Object.values(secrets)) await provokeErrors(secret)
  // The same with a broken database, when error objects with all they know reach the log.
  const before = harness.lines.length
  await harness.owner.query('alter table agents rename to gone; alter table operators rename to also_gone')
  await harness.owner.query('alter table mail_tokens rename column used_at to gone')
  try {
    for (const secret of Object.values(secrets)) await provokeErrors(secret)
  } finally {
    await harness.owner.query('alter table gone rename to agents; alter table also_gone rename to operators')
    await harness.owner.query('alter table mail_tokens rename column gone to used_at')
  }
  const faults = harness.lines.slice(before).filter((line) => line.includes('request failed'))
  assert.ok(faults.length >= 15, `only ${faults.length} faults were logged`)

  const dump = await dumpTables(harness.owner)
  const log = harness.lines.join('')
  t.diagnostic(
    `${Object.keys(secrets).length} secrets; ${harness.lines.length} log lines; ${dump.rows} rows of ${dump.tables} tables`,
  )
  assert.equal(Object.keys(secrets).length, 9)
  assert.ok(Object.values(secrets).every((secret) => secret.length >= 43))
  assert.deepEqual(findLeakedSecrets(log, secrets), [])
  for (const text of [...dumps, dump.text]) assert.deepEqual(findLeakedSecrets(text, secrets), [])
  // What may be read is there, so the scan has looked at the right things.
  assert.match(log, /"endpoint":"agents\.keys-rotate"/)
  assert.match(log, /refused the text of mail evt_\w+: 550/)
  for (const seen of ['canary@example.com', 'operator.create', 'agt_', '"key.rotated"'])
    assert.ok([...dumps, dump.text].join().includes(seen.replaceAll('"', '')), seen)
})

test('a secret that does get into the log or a table is found, in whichever form', async () => {
  const planted = { planted: makeKey('svc_live_', 'aa') }
  assert.deepEqual(findLeakedSecrets((await dumpTables(harness.owner)).text, planted), [])
  for (const form of [
    '$1::text',
    "convert_to($1, 'UTF8')",
    "encode(convert_to($1, 'UTF8'), 'base64')",
    "'x' || substr($1, 10)",
    "jsonb_build_object('a', jsonb_build_array($1::text))",
  ]) {
    await harness.owner.query(
      `create table planted as select ${form.replace('$1', `'${planted.planted}'`)} as v`,
    )
    assert.deepEqual(findLeakedSecrets((await dumpTables(harness.owner)).text, planted), ['planted'], form)
    await harness.owner.query('drop table planted')
  }
  assert.deepEqual(findLeakedSecrets(`{"note":"${planted.planted}"}`, planted), ['planted'])
})

test('the log cuts secrets out of fields by name and keys out of any text', () => {
  const key = makeKey('svc_test_', 'aa')
  const operatorKey = makeKey('svc_op_', 'aa')
  const before = harness.lines.length
  const deep = {
    headers: { authorization: 'Bearer abc', cookie: 'sid=1', 'set-cookie': 'sid=2' },
    body: { token: 'tok-1', apiKey: 'k-1' },
  }
  harness.ctx.log.info({ request: deep, password: 'pw-1', note: `with ${key}` }, `called with ${operatorKey}`)
  harness.ctx.log.error({ err: new Error(`refused ${key}`) }, 'failed')
  const prefixes = ['cso_', 'lnk_', 'brw_', 'ops_', 'opw_'] as const
  const tokens = prefixes.map((prefix) => makeToken(harness.ctx.ids, prefix))
  const signer = { keys: [Buffer.alloc(32)] as const, cell: 'aa' }
  const bearers = [signToken(signer, 'cns_', ['csn_aa1']), signToken(signer, 'opb_', ['osn_aa1'])]
  harness.ctx.log.info(`tokens ${[...tokens, ...bearers].join(' ')}`)
  const text = harness.lines.slice(before).join('')
  const parts = [...tokens, ...bearers.flatMap((bearer) => bearer.split('.'))]
  for (const secret of ['Bearer abc', 'sid=1', 'sid=2', 'tok-1', 'k-1', 'pw-1', key, operatorKey, ...parts])
    assert.ok(!text.includes(secret), secret)
  assert.match(text, /svc_test_\[secret\]/)
  assert.match(text, /svc_op_\[secret\]/)
})
