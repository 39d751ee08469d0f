import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packs } from '@pohf/protocol'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import * as agents from '../agents/index.ts'
import { post } from '../ledger/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { makeCredits } from './index.ts'
import { mailOwnerOf } from '../platform/net/mail-address.ts'
import { nextMonth, purchaseLines } from './rules.ts'

const harness = await startHarness()
const credits = makeCredits(harness.ctx, agents)
type Agent = Awaited<ReturnType<typeof harness.register>>

let made = 0
/** A live agent on a mail domain of its own, so that caps do not meet by chance. */
const liveAgent = (mail?: string) => harness.register('live', mail ?? `dev@company-${made++}.example`)
const confirm = (agent: Agent) =>
  harness.owner.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    agent.agentId,
  ])
const inAgentTransaction = <T>(agent: Agent, work: Parameters<typeof inTransaction<T>>[2]) =>
  inTransaction(harness.ctx, agent.agentId, work)
/** Pays for one verification, the way it is paid for: a session of this name is verified. Says from what. */
const spend = async (agent: Agent, reference: string): Promise<{ spent: string }> => {
  await makeScoredSession(harness, agent, { sessionId: reference })
  const answer = await harness.call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId: reference },
  })
  if (answer.status !== 200)
    throw new Refusal(answer.json.error, answer.json.buy ? { buy: answer.json.buy } : {})
  const { rows } = await harness.owner.query<{ account: string }>(
    `select account from ledger_lines join ledger_claims using (agent_id, mode, entry_id)
     where agent_id = $1 and kind = 'spend' and reference = $2 and amount > 0`,
    [agent.agentId, answer.json.credentialId],
  )
  assert.equal(rows.length, 1)
  return { spent: rows[0]?.account.replace('consumed:', '') ?? '' }
}
const purchase = (agent: Agent, reference: string) =>
  inAgentTransaction(agent, (tx) =>
    credits.postPurchase(tx, { agentId: agent.agentId, mode: agent.mode, pack: 'starter', reference }),
  )
/** Adds credits for a test by a posting, because the database permits no other change of a balance. */
const grantCredits = (agent: Agent, amount: bigint, account = 'credits') =>
  inAgentTransaction(agent, (tx) =>
    post(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      kind: 'test_gift',
      reference: `${account} ${amount}`,
      lines: [
        { account: 'world:gift', unit: 'credit', amount: -amount },
        { account, unit: 'credit', amount },
      ],
    }),
  )
const balanceOf = async (agent: Agent) => {
  const { status, json } = await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })
  assert.equal(status, 200)
  return json as Record<'balance' | 'lifetimePurchased' | 'lifetimeConsumed' | 'freeRemaining', number> & {
    packs: unknown
    freeResetsAt: string
  }
}
const freeOf = async (agent: Agent) => (await balanceOf(agent)).freeRemaining
const isRefusal = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const eventsOf = async (agent: Agent) => {
  const { rows } = await harness.owner.query(
    "select type, data from events where agent_id = $1 and type like 'credits.%' order by event_id",
    [agent.agentId],
  )
  return rows as { type: string; data: unknown }[]
}
const firstOfMonth = (text: string) => new Date(text).getUTCDate() === 1 && text.endsWith('T00:00:00.000Z')

void test('a fresh live agent has nothing, and is told where to buy', async () => {
  const agent = await liveAgent()
  const shown = await balanceOf(agent)
  assert.deepEqual(
    { ...shown, freeResetsAt: firstOfMonth(shown.freeResetsAt) },
    {
      balance: 0,
      lifetimePurchased: 0,
      lifetimeConsumed: 0,
      freeRemaining: 0,
      freeResetsAt: true,
      packs: [
        { pack: 'starter', credits: 100, priceUsd: 49 },
        { pack: 'growth', credits: 1000, priceUsd: 299 },
        { pack: 'scale', credits: 10000, priceUsd: 1999 },
      ],
      disputes: [],
    },
  )
  await assert.rejects(
    spend(agent, 'first'),
    (error: unknown) =>
      error instanceof Refusal &&
      error.code === 'insufficient_credits' &&
      error.options.buy === `${harness.ctx.config.BASE_URL}/buy`,
  )
  assert.equal(await inAgentTransaction(agent, (tx) => credits.hasAllowance(tx, agent)), false)
})

void test('a confirmed address gives 1,000 seals a month, spent before credits, gone with the month', async () => {
  const agent = await liveAgent()
  await purchase(agent, 'chk')
  await confirm(agent)
  assert.equal((await balanceOf(agent)).freeRemaining, 1000)
  assert.deepEqual(await spend(agent, 'one'), { spent: 'free' })
  const shown = await balanceOf(agent)
  assert.equal(shown.freeRemaining, 999)
  assert.equal(shown.balance, 100)
  assert.equal(shown.lifetimeConsumed, 0)
  await harness.advance(32 * 86_400_000)
  const next = await balanceOf(agent)
  assert.equal(next.freeRemaining, 1000)
  assert.ok(firstOfMonth(next.freeResetsAt) && next.freeResetsAt > shown.freeResetsAt)
})

void test('when the free seals are used up, credits are spent; then nothing is', async () => {
  const agent = await liveAgent()
  await confirm(agent)
  await grantCredits(agent, 1n)
  await balanceOf(agent)
  const { rows } = await harness.owner.query(
    "select account from ledger_accounts where agent_id = $1 and account like 'free:%'",
    [agent.agentId],
  )
  await inAgentTransaction(agent, (tx) =>
    post(tx, {
      agentId: agent.agentId,
      mode: 'live',
      kind: 'test_burn',
      reference: 'all but one',
      lines: [
        { account: rows[0].account, unit: 'credit', amount: -999n },
        { account: 'consumed:free', unit: 'credit', amount: 999n },
      ],
    }),
  )
  assert.deepEqual(await spend(agent, 'last free'), { spent: 'free' })
  assert.deepEqual(await spend(agent, 'credit'), { spent: 'credit' })
  await assert.rejects(spend(agent, 'too many'), isRefusal('insufficient_credits'))
  assert.deepEqual(await spend(agent, 'last free'), { spent: 'free' }, 'a repeat works at balance 0')
  assert.equal((await balanceOf(agent)).lifetimeConsumed, 1)
})

void test('a pack posts once, shows in the balance, and purchased less consumed is what is left', async () => {
  const agent = await liveAgent()
  assert.deepEqual(await purchase(agent, 'chk_1'), { repeated: false })
  assert.deepEqual(await purchase(agent, 'chk_1'), { repeated: true })
  await spend(agent, 'one')
  await spend(agent, 'two')
  await spend(agent, 'two')
  const shown = await balanceOf(agent)
  assert.equal(shown.balance, 98)
  assert.equal(shown.lifetimePurchased, 100)
  assert.equal(shown.lifetimeConsumed, 2)
  assert.deepEqual(await eventsOf(agent), [
    { type: 'credits.purchased', data: { balance: 100, pack: 'starter', credits: 100 } },
  ])
})

void test('the agent hears once when ten are left and once when none is', async () => {
  const agent = await liveAgent()
  await grantCredits(agent, 12n)
  for (let index = 0; index < 12; index++) await spend(agent, `spend ${index}`)
  await spend(agent, 'spend 11')
  assert.deepEqual(await eventsOf(agent), [
    { type: 'credits.low', data: { balance: 10, threshold: 10 } },
    { type: 'credits.exhausted', data: { balance: 0 } },
  ])
})

void test('a debtor mints nothing, until a pack has settled the debt', async () => {
  const agent = await liveAgent()
  await confirm(agent)
  await grantCredits(agent, 30n, 'consumed:credit')
  await inAgentTransaction(agent, (tx) =>
    post(tx, {
      agentId: agent.agentId,
      mode: 'live',
      kind: 'test_debt',
      reference: 'dispute',
      lines: [
        { account: 'owed:credits', unit: 'credit', amount: -30n },
        { account: 'world:purchases', unit: 'credit', amount: 30n },
      ],
    }),
  )
  await assert.rejects(spend(agent, 'one'), isRefusal('account_in_debt'))
  await assert.rejects(
    inAgentTransaction(agent, (tx) => credits.hasAllowance(tx, agent)),
    isRefusal('account_in_debt'),
  )
  await Promise.all([purchase(agent, 'a'), purchase(agent, 'b')])
  assert.equal((await balanceOf(agent)).balance, 170)
  assert.deepEqual(await spend(agent, 'one'), { spent: 'free' })
})

void test('a test key spends nothing, but the use is counted', async () => {
  const agent = await harness.register('test')
  assert.equal(await inAgentTransaction(agent, (tx) => credits.hasAllowance(tx, agent)), true)
  assert.deepEqual(await spend(agent, 'one'), { spent: 'test' })
  assert.deepEqual(await spend(agent, 'one'), { spent: 'test' })
  await spend(agent, 'two')
  const shown = await balanceOf(agent)
  assert.equal(shown.balance, 0)
  assert.equal(shown.lifetimeConsumed, 2)
  assert.equal(shown.freeRemaining, 0)
})

void test('a test key gets its pack at once, and the page of its checkout says so', async () => {
  const agent = await harness.register('test')
  const buy = () =>
    harness.call('POST', '/api/agents/credits/buy', { key: agent.apiKey, body: { pack: 'growth' } })
  const { status, json } = await buy()
  assert.equal(status, 200)
  const page = await harness.call('GET', new URL(json.checkoutUrl).pathname)
  assert.match(page.text, /This is a test purchase/)
  await spend(agent, 'one')
  assert.equal((await balanceOf(agent)).balance, packs.growth.credits)
  await Promise.all(Array.from({ length: 20 }, buy))
  assert.equal((await balanceOf(agent)).balance, packs.growth.credits * 21)
})

void test('a live key gets a checkout that cannot be paid, and no credits', async () => {
  const agent = await liveAgent()
  const { status, json } = await harness.call('POST', '/api/agents/credits/buy', {
    key: agent.apiKey,
    body: { pack: 'scale' },
  })
  assert.equal(status, 200)
  assert.match((await harness.call('GET', new URL(json.checkoutUrl).pathname)).text, /Nothing was charged/)
  assert.equal((await balanceOf(agent)).balance, 0)
})

void test('a pack that is not sold is refused', async () => {
  const agent = await liveAgent()
  for (const body of [{}, { pack: 'free' }, { pack: 1 }]) {
    const { status, json } = await harness.call('POST', '/api/agents/credits/buy', {
      key: agent.apiKey,
      body,
    })
    assert.equal(status, 400)
    assert.equal(json.error, 'validation_failed')
  }
})

void test('the page /buy names every pack, the call, and that no card can be charged', async () => {
  const { status, text } = await harness.call('GET', '/buy')
  assert.equal(status, 200)
  for (const words of ['starter', 'growth', 'scale', '1,999', '/api/agents/credits/buy', 'No card provider'])
    assert.ok(text.includes(words), words)
})

for (const parallel of [2, 20, 100]) {
  void test(`of ${parallel} verifications at once on the last credit, exactly one is paid for`, async () => {
    const agent = await liveAgent()
    await grantCredits(agent, 1n)
    const results = await Promise.allSettled(
      Array.from({ length: parallel }, (_, index) => spend(agent, `race ${index}`)),
    )
    const refused = results.filter((result) => result.status === 'rejected')
    assert.equal(results.length - refused.length, 1)
    assert.ok(refused.every((result) => isRefusal('insufficient_credits')(result.reason)))
    assert.equal((await balanceOf(agent)).balance, 0)
    assert.deepEqual(
      (await eventsOf(agent)).map((event) => event.type),
      ['credits.exhausted'],
    )
  })

  void test(`${parallel} verifications at once with one reference spend one credit`, async () => {
    const agent = await liveAgent()
    await grantCredits(agent, 5n)
    const results = await Promise.all(Array.from({ length: parallel }, () => spend(agent, 'same')))
    assert.ok(results.every((result) => result.spent === 'credit'))
    assert.equal((await balanceOf(agent)).balance, 4)
  })

  void test(`${parallel} first verifications at once of a fresh agent take one place and one month`, async () => {
    const agent = await liveAgent()
    await confirm(agent)
    const results = await Promise.all(
      Array.from({ length: parallel }, (_, index) => spend(agent, `fresh ${index}`)),
    )
    assert.ok(results.every((result) => result.spent === 'free'))
    assert.equal((await balanceOf(agent)).freeRemaining, 1000 - parallel)
    const { rows } = await harness.owner.query('select place from free_plan_places where agent_id = $1', [
      agent.agentId,
    ])
    assert.equal(rows.length, 1)
  })
}

void test('of 20 confirmed agents of one mail domain, spending at once, three hold the free plan', async () => {
  const crowd = await Promise.all(
    Array.from({ length: 20 }, (_, index) => liveAgent(`a${index}@crowd.example`)),
  )
  await Promise.all(crowd.map(confirm))
  const results = await Promise.allSettled(crowd.map((agent) => spend(agent, 'one')))
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 3)
  const holders = await Promise.all(crowd.map((agent) => balanceOf(agent)))
  assert.equal(holders.filter((shown) => shown.freeRemaining > 0).length, 3)
})

void test('at a public mail provider the cap counts the mailbox, not the domain', async () => {
  const people = await Promise.all(Array.from({ length: 5 }, (_, index) => liveAgent(`p${index}@gmail.com`)))
  const oneMailbox = await Promise.all(
    ['ann@gmail.com', 'a.nn@gmail.com', 'ann+x@gmail.com', 'a.n.n+y@googlemail.com'].map((mail) =>
      liveAgent(mail),
    ),
  )
  await Promise.all([...people, ...oneMailbox].map(confirm))
  assert.deepEqual(await Promise.all(people.map(freeOf)), [1000, 1000, 1000, 1000, 1000])
  const shared: number[] = []
  for (const agent of oneMailbox) shared.push(await freeOf(agent))
  assert.deepEqual(shared, [1000, 1000, 1000, 0])
})

void test('the rules of purchase and mail owner', () => {
  assert.deepEqual(
    purchaseLines(100n, -250n).map((line) => line.amount),
    [-100n, 100n],
  )
  assert.deepEqual(
    purchaseLines(100n, 0n).map((line) => line.account),
    ['world:purchases', 'credits'],
  )
  for (const [address, owner] of [
    ['ann+x@corp.example', 'corp.example'],
    ['ann@a.b.c.corp.example', 'corp.example'],
    ['ann@dev.corp.co.uk', 'corp.co.uk'],
    // Suffixes of the private part give names to anybody, so they are one owner.
    ['ann@a.github.io', 'github.io'],
    ['ann@b.c.eu.org', 'eu.org'],
    ['ann@mail.xn--exmple-cua.de', 'xn--exmple-cua.de'],
    ['ann@localhost', 'localhost'],
    ['a.b+c@proton.me', 'a.b@proton.me'],
    ['a.b+c@googlemail.com', 'ab@gmail.com'],
  ])
    assert.equal(mailOwnerOf(address ?? ''), owner)
  assert.equal(nextMonth(new Date('2026-12-31T23:59:59.999Z')).toISOString(), '2027-01-01T00:00:00.000Z')
})
