import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { linkTo, mailsTo, makeAccount, openConsole } from '../../test/fixtures/people/console.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { leastStatements } from '../../test/fixtures/plans/statements.ts'
import { plainName } from './rules.ts'

const harness = await startHarness({
  TRUSTED_PROXIES: '127.0.0.1',
  ADDRESS_LIMITS: 'on',
  MAILS_PER_RECIPIENT_PER_DAY: '6',
})
const day = 86_400_000
// Noon, so that no test crosses the end of a day.
await harness.advance(((day * 1.5 - (Date.now() % day)) % day) + 1)

const ask = (address: string, email: string, name?: string) =>
  openConsole(harness).send('POST', name === undefined ? 'sign-in' : 'sign-up', {
    body: { email, ...(name === undefined ? {} : { name }) },
    headers: { 'x-forwarded-for': address },
  })

/** What a caller sees, without what differs every time. */
const shapeOf = ({ status, json, headers }: Awaited<ReturnType<typeof ask>>) => ({
  status,
  json,
  headers: Object.keys(headers).toSorted(),
  cookie: String(headers['set-cookie']).replace(/brw_aa[^;]{42}/, ''),
})

test('the answer, the mail and the number of SQL statements do not reveal whether an address has an account', async () => {
  const { email } = await makeAccount(harness)
  // A mailbox gets three mails a day by way of one network.
  const networks = ['192.0.2.1', '198.51.100.1']
  const shapes: unknown[] = []
  const counts: number[] = []
  for (const [to, name] of [
    [email, undefined],
    ['unknown@example.com', undefined],
    [email, 'Again'],
    ['new@example.com', 'New'],
  ] as const) {
    const [...left] = networks
    const askOnce = async () => shapes.push(shapeOf(await ask(left.pop() ?? '', to, name)))
    counts.push(await leastStatements(harness, askOnce, networks.length))
  }
  for (const shape of shapes) assert.deepEqual(shape, shapes[0])
  assert.deepEqual(new Set(counts).size, 1, `statements ${counts.join(', ')}`)
  assert.equal((await mailsTo(harness, 'unknown@example.com')).length, networks.length)
  assert.equal(await linkTo(harness, 'unknown@example.com'), undefined, 'there is nothing to sign in to')
  const { rows } = await harness.owner.query('select from account_people where email = $1', [
    'new@example.com',
  ])
  assert.equal(rows.length, 0, 'the sign-up of an address creates nothing')
})

test('one network cannot use up the mails of a mailbox, and all networks together cannot flood it', async () => {
  const victim = 'victim@example.com'
  for (let n = 0; n < 10; n++) assert.equal((await ask(`198.51.100.${n}`, victim)).status, 202)
  assert.equal((await mailsTo(harness, victim)).length, 3, 'a /24 is one network')
  for (let n = 0; n < 10; n++) await ask('2001:db8:1::1'.replace('1::', `1:${n}::`), victim)
  assert.equal((await mailsTo(harness, victim)).length, 6, 'a /48 is one network')
  const other = await ask('203.0.113.9', victim)
  assert.deepEqual(shapeOf(other).json, shapeOf(await ask('203.0.113.9', 'x@example.com')).json)
  assert.equal((await mailsTo(harness, victim)).length, 6)
  assert.equal((await mailsTo(harness, 'vic.tim@example.com')).length, 0)
  const { rows } = await harness.owner.query('select from account_links where email = $1', [victim])
  assert.equal(rows.length, 6, 'links that wait for an address are as many as its mails')
})

test('an address asks for 20 links an hour at most', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 21; n++) statuses.push((await ask('192.0.2.77', `to-${n}@example.com`)).status)
  assert.deepEqual(
    statuses.slice(0, 20),
    Array.from({ length: 20 }, () => 202),
  )
  assert.equal(statuses[20], 429)
})

test('mails to strangers quote no link and no text of the sender', async () => {
  assert.equal(plainName('Win now: https://evil.example/x?y=1'), 'Win now https evil example x y 1')
  assert.equal(plainName('…'), 'an account')
  const browser = openConsole(harness)
  await browser.post('sign-up', { name: 'Visit https://evil.example', email: 'quoted@example.com' })
  const [mail] = await mailsTo(harness, 'quoted@example.com')
  assert.doesNotMatch(mail?.text ?? '', /evil/)
  await browser.post('link', { token: await linkTo(harness, 'quoted@example.com') })
  assert.equal((await browser.post('people', { email: 'target@example.com', role: 'viewer' })).status, 200)
  const [invitation] = await mailsTo(harness, 'target@example.com')
  assert.match(invitation?.text ?? '', /"Visit https evil example"/)
  assert.doesNotMatch(invitation?.text ?? '', /evil\.example/)
})

test('expired links, challenges, invitations and sessions are deleted by the worker', async () => {
  const { owner } = await makeAccount(harness)
  await owner.post('passkeys/options')
  await owner.post('people', { email: 'never@example.com', role: 'viewer' })
  await ask('192.0.2.3', 'pending@example.com')
  await harness.advance(8 * day)
  await harness.runJobs()
  for (const table of ['account_links', 'account_challenges', 'account_invitations', 'account_sessions']) {
    const { rows } = await harness.owner.query(`select from ${table}`)
    assert.equal(rows.length, 0, table)
  }
  assertRefusal(await owner.get('account'), 401, 'sign_in_required')
})
