import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { normalizePayoutAccount } from '@pohf/protocol'
import { findTablesHolding } from '../../../test/architecture/personal-data.ts'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { giveStars } from '../../../test/fixtures/people/stars.ts'
import { makeWorker, type TestWorker } from '../../../test/fixtures/people/worker.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import * as operators from '../../operators/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { findPayoutRootOf } from '../../wiring/settlement.ts'
import { deleteOldAccounts } from './store.ts'

const harness = await startHarness({ PAYOUT_APPROVAL: 'on' })
const home = await harness.register('live')
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const bob = await operators.create(harness.ctx, 'machine', 'Bob')
const operate = (key: string, path: string, body?: object) =>
  harness.callOperator('POST', `/operator/payouts/${path}`, { key, ...(body ? { body } : {}) })
const days = 86_400_000

const paidWorker = async (stars = 100n): Promise<TestWorker> => {
  const worker = await makeWorker(harness, home)
  await giveStars(harness, worker, stars, 'live')
  return worker
}
let accountCount = 0
const newAccount = () => `acct_${String((accountCount += 1)).padStart(8, '0')}`
const requestPayout = (worker: TestWorker, account: string, stars = 10): Promise<TestResponse> =>
  worker.post('payout', { mode: 'live', stars, account })
const requireOk = (answer: TestResponse) => {
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const approve = async (requestId: string): Promise<void> => {
  requireOk(await operate(ada.operatorKey, `${requestId}/review`))
  requireOk(await operate(bob.operatorKey, `${requestId}/approve`))
}
const payOut = async (worker: TestWorker, account: string): Promise<void> => {
  const { requestId } = requireOk(await requestPayout(worker, account))
  await approve(requestId)
  requireOk(await operate(ada.operatorKey, `${requestId}/pay`, { paymentRef: 'wire 1', account }))
}
const reject = async (requestId: string) =>
  requireOk(await operate(ada.operatorKey, `${requestId}/reject`, { reason: 'no' }))
const listed = async (requestId: string) => {
  const { json } = await harness.callOperator('GET', '/operator/payouts?limit=200', { key: ada.operatorKey })
  return json.payouts.find((payout: { requestId: string }) => payout.requestId === requestId)
}
const rootOf = ({ personId }: TestWorker) =>
  inTransaction(harness.ctx, 'system', (tx) => findPayoutRootOf(harness.ctx)(tx, personId))
const erase = async ({ cookie }: TestWorker) => {
  const { origin } = new URL(harness.ctx.config.BASE_URL.replace('127.0.0.1', 'localhost'))
  const body = { confirm: 'delete everything' }
  requireOk(await harness.call('POST', '/api/members/me/erase', { headers: { origin, cookie }, body }))
}
const cleanUp = () => inTransaction(harness.ctx, 'system', deleteOldAccounts)
const pass = async (count: number) => {
  await harness.advance(count * days)
  await cleanUp()
}
const countRefusals = async () => {
  const { rows } = await harness.owner.query('select count(*)::int as n from payout_account_refusals')
  return rows[0].n
}
const sha256 = (text: string) => createHash('sha256').update(text).digest()

const iban = 'DE89370400440532013000'
const ibanWritings = [
  iban,
  'de89 3704 0044 0532 0130 00',
  ' DE89-3704-0044-0532-0130-00 ',
  'IBAN: DE89 3704 0044 0532 0130 00',
  'iban de89.3704.0044.0532.0130.00',
  'DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000',
  'ＤＥ８９370400440532013000',
]
test('all ways to write an account are one account, and a mistyped IBAN is none', () => {
  for (const writing of ibanWritings) assert.equal(normalizePayoutAccount(writing), iban, writing)
  for (const writing of ['acct_1032D82eZv', 'ACCT 1032-d82ez.v', 'acct:1032d82ezv'])
    assert.equal(normalizePayoutAccount(writing), 'ACCT1032D82EZV', writing)
  assert.equal(normalizePayoutAccount('GB82 WEST 1234 5698 7654 32'), 'GB82WEST12345698765432')
  for (const writing of [
    'anna@example.com',
    'anna+pay@example.com',
    'Anna+1+2@example.com',
    'anna+@example.com',
  ])
    assert.equal(normalizePayoutAccount(writing), 'ANNA@EXAMPLECOM', writing)
  assert.notEqual(normalizePayoutAccount('anna@example.org'), 'ANNA@EXAMPLECOM')
  for (const wrong of [
    'DE88370400440532013000',
    'DE89370400440532013001',
    'DE98370400440532031000',
    '1234567',
    '        ',
    'acct_\u200b12345678',
    'аcct_12345678',
    `acct_${'1'.repeat(65)}`,
  ])
    assert.equal(normalizePayoutAccount(wrong), undefined, wrong)
})

/** An account whose valid check digits are 02, 97 or 98 has a second writing with 99, 00 or 01 that passes MOD 97. */
test('an IBAN has one pair of check digits', () => {
  const found = { '02': '', '97': '', '98': '' }
  for (let n = 0; n < 2_000; n += 1)
    for (const check of ['02', '97', '98'] as const) {
      const text = `DE${check}37040044${String(n).padStart(10, '0')}`
      if (normalizePayoutAccount(text) !== undefined) found[check] = text
    }
  for (const [check, other] of [
    ['02', '99'],
    ['97', '00'],
    ['98', '01'],
  ] as const) {
    assert.equal(found[check].length, 22, check)
    const second = found[check].replace(`DE${check}`, `DE${other}`)
    assert.equal(normalizePayoutAccount(second), undefined, second)
  }
})

test('a second person who names an account is refused, however it is written, and reviewers see both', async () => {
  const [first, second] = [await paidWorker(), await paidWorker()]
  const { requestId, accountEnd } = requireOk(await requestPayout(first, ibanWritings[0] ?? ''))
  assert.equal(accountEnd, '3000')
  for (const writing of ibanWritings.slice(1, 4))
    assertRefusal(await requestPayout(second, writing), 409, 'payout_account_taken')
  const [book] = (await second.get('earnings')).json.books
  assert.deepEqual([book.vestedStars, book.heldStars, book.accounts], [100, 0, []], 'nothing is held')
  assert.deepEqual((await listed(requestId)).account, {
    end: '3000',
    paidAt: null,
    otherWorkers: 1,
    takenAccounts: 0,
  })
  const other = requireOk(await requestPayout(second, newAccount()))
  assert.deepEqual([(await listed(other.requestId)).account.takenAccounts], [1])
  const reviewed = requireOk(await operate(ada.operatorKey, `${other.requestId}/review`))
  assert.deepEqual(reviewed.account, (await listed(other.requestId)).account)
  await reject(requestId)
})

test('a mail address with a tag is the same account as the address without it', async () => {
  const [first, second] = [await paidWorker(), await paidWorker()]
  requireOk(await requestPayout(first, 'me+1@x.example'))
  assertRefusal(await requestPayout(second, 'me+2@x.example'), 409, 'payout_account_taken')
})

test('of ten people who name one account at once, one gets it', async () => {
  const workers = await Promise.all(Array.from({ length: 10 }, () => paidWorker()))
  const account = newAccount()
  const answers = await Promise.all(workers.map((worker) => requestPayout(worker, account)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const refused of answers.filter(({ status }) => status !== 200))
    assertRefusal(refused, 409, 'payout_account_taken')
  const { requestId } = answers.find(({ status }) => status === 200)?.json ?? {}
  assert.equal((await listed(requestId)).account.otherWorkers, 9)
})

test('only a completed payout to the named account makes it a root', async () => {
  const worker = await paidWorker()
  const account = newAccount()
  const { requestId } = requireOk(await requestPayout(worker, account))
  await approve(requestId)
  assert.equal(await rootOf(worker), undefined)
  for (const body of [{ paymentRef: 'wire' }, { paymentRef: 'wire', account: newAccount() }])
    assertRefusal(await operate(ada.operatorKey, `${requestId}/pay`, body), 409, 'payout_account_mismatch')
  assert.equal((await listed(requestId)).status, 'approved')
  assert.equal(await rootOf(worker), undefined)
  const paid = { paymentRef: 'wire', account: account.toUpperCase() }
  requireOk(await operate(ada.operatorKey, `${requestId}/pay`, paid))
  const root = await rootOf(worker)
  assert.equal(root?.accountHash.length, 32)
  assert.equal(root?.paidAt.toISOString(), (await listed(requestId)).account.paidAt)
  const [book] = (await worker.get('earnings')).json.books
  assert.deepEqual(book.accounts, [{ end: account.slice(-4), paidAt: root?.paidAt.toISOString() }])
  const next = newAccount()
  await harness.advance(1_000)
  await payOut(worker, next)
  const later = await rootOf(worker)
  assert.ok(later && root && later.paidAt > root.paidAt && !later.accountHash.equals(root.accountHash))
  assert.equal(await rootOf(await paidWorker()), undefined)
})

test('a payout of a partner names no account', async () => {
  const body = { userRef: 'u1', stars: 5 }
  const test = await harness.register('test')
  const path = '/api/partner/payout/request'
  const { requestId } = requireOk(await harness.call('POST', path, { key: test.apiKey, body }))
  assert.equal((await listed(requestId)).account, null)
  await approve(requestId)
  const paid = { paymentRef: 'wire', account: newAccount() }
  assertRefusal(await operate(ada.operatorKey, `${requestId}/pay`, paid), 409, 'payout_account_mismatch')
  requireOk(await operate(ada.operatorKey, `${requestId}/pay`, { paymentRef: 'wire' }))
})

test('a person has one new account at a time, and a rejection releases it', async () => {
  const [holder, owner] = [await paidWorker(), await paidWorker()]
  const [theirs, second] = [newAccount(), newAccount()]
  const one = requireOk(await requestPayout(holder, theirs))
  const two = requireOk(await requestPayout(holder, theirs))
  assertRefusal(await requestPayout(holder, second), 409, 'payout_account_pending')
  assertRefusal(await requestPayout(owner, theirs), 409, 'payout_account_taken')
  await reject(one.requestId)
  assertRefusal(await requestPayout(owner, theirs), 409, 'payout_account_taken')
  await reject(two.requestId)
  const mine = requireOk(await requestPayout(owner, theirs))
  const { account } = await listed(mine.requestId)
  assert.deepEqual(
    [account.otherWorkers, account.takenAccounts],
    [0, 0],
    'the attempts are forgotten with it',
  )
  const other = requireOk(await requestPayout(holder, second))
  assert.equal((await listed(one.requestId)).account, null)
  await approve(mine.requestId)
  requireOk(await operate(ada.operatorKey, `${mine.requestId}/pay`, { paymentRef: 'wire', account: theirs }))
  await reject(requireOk(await requestPayout(owner, theirs)).requestId)
  assertRefusal(await requestPayout(holder, theirs), 409, 'payout_account_taken')
  await reject(other.requestId)
})

test('nobody learns by trying whose accounts are known here', async () => {
  const owners = await Promise.all(Array.from({ length: 4 }, () => paidWorker()))
  const accounts: string[] = []
  for (const owner of owners) {
    const account = newAccount()
    accounts.push(account)
    requireOk(await requestPayout(owner, account))
  }
  const poor = await makeWorker(harness, home)
  assertRefusal(await requestPayout(poor, accounts[0] ?? ''), 409, 'insufficient_stars')
  const curious = await paidWorker()
  for (const account of accounts.slice(0, 3))
    assertRefusal(await requestPayout(curious, account), 409, 'payout_account_taken')
  for (const account of [accounts[3] ?? '', newAccount()]) {
    const refused = await requestPayout(curious, account)
    assertRefusal(refused, 429, 'rate_limited')
    assert.ok(Number(refused.headers['retry-after']) > 29 * 86_400, refused.headers['retry-after'])
  }
  await harness.advance(31 * days)
  requireOk(await requestPayout(curious, newAccount()))
})

test('after erasure the hash stays for 180 days without the person, and then goes', async () => {
  const worker = await paidWorker()
  const account = newAccount()
  await payOut(worker, account)
  const refused = await paidWorker()
  assertRefusal(await requestPayout(refused, account), 409, 'payout_account_taken')
  const { accountHash } = (await rootOf(worker)) ?? {}
  const readRow = async () => {
    const { rows } = await harness.owner.query(
      'select worker, account_end, paid_at is not null as paid from payout_accounts where account_hash = $1',
      [accountHash],
    )
    return rows
  }
  const [{ worker: pseudonym }] = await readRow()
  await erase(worker)
  assert.deepEqual(await readRow(), [{ worker: null, account_end: null, paid: true }])
  assert.deepEqual(
    (await findTablesHolding(harness.owner, pseudonym)).filter((name) => name !== 'payout_requests'),
    [],
    'only the request itself keeps the pseudonym, which leads to nobody',
  )
  await erase(refused)
  const again = await paidWorker()
  await harness.advance(179 * days)
  await cleanUp()
  assertRefusal(await requestPayout(again, account), 409, 'payout_account_taken')
  await harness.advance(2 * days)
  await cleanUp()
  assert.deepEqual(await readRow(), [])
  requireOk(await requestPayout(again, account))
})

test('an account is kept for two years after it was used, a refusal for one', async () => {
  const worker = await paidWorker()
  const account = newAccount()
  await payOut(worker, account)
  assertRefusal(await requestPayout(await paidWorker(), account), 409, 'payout_account_taken')
  await pass(363)
  assert.ok((await countRefusals()) > 0)
  const { requestId } = requireOk(await requestPayout(worker, account))
  await pass(3)
  assert.equal(await countRefusals(), 0)
  await pass(726)
  assert.ok(await rootOf(worker), 'it was named less than two years ago')
  await pass(2)
  assert.equal(await rootOf(worker), undefined)
  assert.equal((await listed(requestId)).account, null)
  await reject(requestId)
})

test('the whole account is in no answer, event, log line or row, and no hash of it can be tried', async () => {
  const worker = await paidWorker()
  const account = 'canary-Zx81Qw77Lm'
  const body = { mode: 'live', stars: 10, account }
  const { origin } = new URL(harness.ctx.config.BASE_URL.replace('127.0.0.1', 'localhost'))
  const headers = { origin, cookie: worker.cookie, 'idempotency-key': 'canary' }
  const answers = [
    await harness.call('POST', '/api/work/payout', { headers, body }),
    await harness.call('POST', '/api/work/payout', { headers, body }),
    await harness.call('POST', '/api/work/payout', { headers, body: { ...body, stars: 1 } }),
    await worker.post('payout', { ...body, stars: 'many' }),
    await worker.post('payout', { ...body, account: `${account} \u200b` }),
    await requestPayout(await paidWorker(), account),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 422, 400, 400, 409],
  )
  const { requestId } = answers[0]?.json ?? {}
  await approve(requestId)
  const paid = { paymentRef: 'wire', account }
  const operatorHeaders = { 'idempotency-key': 'canary-pay' }
  answers.push(
    await harness.callOperator('POST', `/operator/payouts/${requestId}/pay`, {
      key: bob.operatorKey,
      body: { ...paid, account: newAccount() },
    }),
    await harness.callOperator('POST', `/operator/payouts/${requestId}/pay`, {
      key: bob.operatorKey,
      headers: operatorHeaders,
      body: paid,
    }),
    await harness.callOperator('GET', '/operator/payouts?limit=200', { key: bob.operatorKey }),
    await worker.get('earnings'),
    await harness.call('GET', '/api/members/me/export', { headers: { cookie: worker.cookie } }),
  )
  assert.equal(answers.at(-4)?.status, 200)
  assert.deepEqual(answers.at(-1)?.json.payoutAccounts.length, 1)
  await harness.runJobs()
  for (const secret of [account, 'CANARYZX81QW77LM']) {
    assert.deepEqual(await findTablesHolding(harness.owner, secret), [], secret)
    for (const { text } of answers) assert.ok(!text.includes(secret), text)
    for (const line of harness.lines) assert.ok(!line.includes(secret), line)
  }
  for (const tried of [account, 'CANARYZX81QW77LM', JSON.stringify(body), JSON.stringify(paid)])
    assert.deepEqual(await findTablesHolding(harness.owner, sha256(tried)), [], tried)
  assert.deepEqual(await ledgerFaults(harness), [])
})
