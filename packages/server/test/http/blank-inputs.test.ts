import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../fixtures/harness.ts'
import { linkOf, startMailbox } from '../fixtures/mailbox.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const mailbox = await startMailbox()
after(() => mailbox.stop())
const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` })
const { apiKey: key } = await harness.register('test')
const register = (body: object) =>
  harness.call('POST', '/api/agents/register', { body: { name: 'Test', mode: 'test', ...body } })

const blanks = [' ', '   ', '\u00a0', '\u3000 ', '\u200b\u200d', '\u2060', '\u202e ']

test('a name that shows nothing is refused, at registration and later', async () => {
  for (const name of [...blanks, '\n\t']) {
    assertRefusal(await register({ name, contactEmail: 'a@example.com' }), 400, 'validation_failed')
    assertRefusal(
      await harness.call('PATCH', '/api/agents/me', { key, body: { name } }),
      400,
      'validation_failed',
    )
  }
  for (const name of ['Zoë', ' x ', '株式会社', '👩‍🔬', '-'])
    assert.equal((await register({ name, contactEmail: 'a@example.com' })).status, 200, name)
})

test('a blank reference is no session, member or payment, also in the sandbox', async () => {
  for (const blank of blanks) {
    for (const [path, body] of [
      ['/api/agents/verify', { sessionId: blank }],
      ['/api/agents/verify-personhood', { memberId: blank }],
      ['/api/agents/bind-transaction', { paymentRef: 'card:ord_123456', memberId: blank }],
      ['/api/kinetic/submit', { memberId: blank, source: 'receipt', photoHash: 'p' }],
      ['/api/partner/points/convert', { userRef: blank, points: 10 }],
    ] as const)
      assertRefusal(await harness.call('POST', path, { key, body }), 400, 'validation_failed')
  }
  const spaced = await harness.call('POST', '/api/agents/verify', { key, body: { sessionId: 'a visit' } })
  assert.equal(spaced.status, 200)
})

test('an internationalised address is accepted, stored with its domain as DNS knows it, and gets its mail', async () => {
  const answer = await register({ contactEmail: 'Zoë@Exämple.de' })
  assert.equal(answer.status, 200)
  const { json } = await harness.call('GET', '/api/agents/me', { key: answer.json.apiKey })
  assert.equal(json.contactEmail, 'zoë@xn--exmple-cua.de')
  await harness.runJobs()
  // The mail server shows the domain decoded.
  const mail = mailbox.mails.find(({ to }) => to.includes('zoë@exämple.de'))
  const { token } = linkOf(mail)
  assert.equal((await harness.call('POST', '/api/agents/email/confirm', { body: { token } })).status, 200)
})

test('addresses that no mail server can take are refused', async () => {
  for (const contactEmail of [
    'a',
    '@example.com',
    'a@',
    'a@localhost',
    'a@1.2.3.4',
    'a@0x7f.1',
    'a@[192.0.2.1]',
    'a@example.com.',
    'a@-x.example',
    'a@x_y.example',
    'a@exa mple.com',
    'a@example.com:25',
    'a@example。com@x',
    'a b@example.com',
    '.a@example.com',
    'a..b@example.com',
    'a@b.example\r\nBcc: v@v.example',
    '"x, victim@v.example"@b.example',
    'a,b@example.com',
    'a<b@example.com',
    'a\u202eb@example.com',
    `${'ë'.repeat(33)}@example.com`,
    `a@${'b'.repeat(64)}.example`,
  ])
    assertRefusal(await register({ contactEmail }), 400, 'validation_failed')
})
