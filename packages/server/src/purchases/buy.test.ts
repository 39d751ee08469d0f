import assert from 'node:assert/strict'
import { test } from 'node:test'
import { specification } from '@pohf/protocol'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { inTransaction } from '../platform/db/db.ts'
import { reconcile } from '../ledger/index.ts'
import { decode, encode, makePayer } from '../../test/fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'
import { platformAgentId } from '../agents/index.ts'
import { purchaseReconciliation } from './reconcile.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('purchases', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, harness, requestChallenge, makeFundedPayer, signV1, signV2, pay, buy, balanceOf } = fixture
  const sandbox = await harness.register('test')
  const price = 10_000n
  const read = (purchaseId: string, headers: Record<string, string> = {}) =>
    harness.call('GET', `/api/agent/purchases/${purchaseId}`, { headers })

  test('a good payment is charged once and delivers a credential that verifies, with the answer', async () => {
    const payer = await makeFundedPayer(30_000n)
    const before = await balanceOf(chain.payTo.address)
    const { answer, purchaseId } = await buy(payer)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(await balanceOf(payer.account.address), 30_000n - price)
    assert.equal(await balanceOf(chain.payTo.address), before + price)
    const row = specification.find(({ id }) => id === 'purchases.buy')
    assert.deepEqual(row?.response.parse(answer.json), answer.json)
    assert.equal(answer.json.kind, 'purchase')
    assert.equal(answer.json.purchaseId, purchaseId.split('.')[0])
    assert.equal(answer.headers['x-sandbox'], 'simulated')
    assert.equal(answer.headers['cache-control'], 'no-store')
    const jwks = (await harness.call('GET', '/.well-known/jwks.json')).json
    const { payload } = await jwtVerify(answer.json.pohf_jwt, createLocalJWKSet(jwks))
    assert.equal(payload['test'], true)
    assert.equal(payload['agent'], platformAgentId(harness.ctx.config, 'test'))
    assert.deepEqual(payload['purchase'], {
      id: answer.json.purchaseId,
      workflow: 'wf_test_ok',
      payer: payer.account.address.toLowerCase(),
      transaction: answer.json.payment.transaction,
    })
    assert.deepEqual(decode(answer.headers['payment-response']), {
      success: true,
      transaction: answer.json.payment.transaction,
      network: 'eip155:84532',
      payer: payer.account.address.toLowerCase(),
    })
  })

  test('a version 1 client without a purchase id is delivered, with its own response header and an id for later', async () => {
    const payer = await makeFundedPayer()
    const { v1 } = await requestChallenge()
    const answer = await pay({ 'x-payment': encode(await signV1(payer, v1)) })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(decode(answer.headers['x-payment-response']).network, 'base-sepolia')
    assert.equal(answer.headers['payment-response'], undefined)
    const secret = answer.headers['x-purchase-id'] ?? ''
    const again = await read(secret)
    assert.equal(again.json.delivery.pohf_jwt, answer.json.pohf_jwt)
  })

  test('over MCP the delivery is structured content, with the receipt beside it', async () => {
    const payer = await makeFundedPayer()
    const { v1 } = await requestChallenge()
    const params = {
      name: 'purchase_verified_human_task',
      arguments: { workflowId: 'wf_test_ok' },
      _meta: { 'x402/payment': await signV1(payer, v1) },
    }
    const { json } = await harness.call('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    })
    const { structuredContent, isError, _meta } = json.result
    assert.equal(isError, false)
    assert.equal(structuredContent.kind, 'purchase')
    assert.equal(typeof structuredContent.answer.text, 'string')
    assert.equal(_meta['x402/payment-response'].transaction, structuredContent.payment.transaction)
  })

  const callTool = async (meta: object, input: object = {}) => {
    const params = {
      name: 'purchase_verified_human_task',
      arguments: { workflowId: 'wf_test_ok', ...input },
      _meta: meta,
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    return (await harness.call('POST', '/mcp', { body })).json.result
  }

  test('over MCP the challenge is paid as an object or as text, and a repeat is charged once', async () => {
    const payer = await makeFundedPayer()
    const challenge = await callTool({})
    assert.equal(challenge.isError, true)
    assert.deepEqual(JSON.parse(challenge.content[0].text), challenge.structuredContent)
    const { accepts, extensions, purchase_id: purchaseId } = challenge.structuredContent
    const payment = { ...(await signV2(payer, accepts[0])), extensions }
    const first = await callTool({ 'x402/payment': payment }, { purchaseId })
    assert.equal(first.isError, false, JSON.stringify(first))
    assert.equal(first._meta['x402/payment-response'].success, true)
    const again = await callTool({ 'x402/payment': encode(payment) })
    assert.deepEqual(again.structuredContent, first.structuredContent)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('the same call again gets the same bytes, charges nothing, and works after the quote has expired', async () => {
    const payer = await makeFundedPayer()
    const { answer, headers, purchaseId } = await buy(payer)
    await harness.advance(3_600_000)
    const again = await pay(headers)
    assert.equal(again.status, 200, again.text)
    assert.equal(again.text, answer.text)
    assert.equal(again.headers['payment-response'], answer.headers['payment-response'])
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
    assert.deepEqual((await read(purchaseId)).json.delivery, answer.json)
    await chain.rpc('evm_increaseTime', [3_600])
    await chain.rpc('anvil_mine', ['0x1'])
  })

  test('an outsider who reads a settled payment off the chain gets the state, and no delivery', async () => {
    const payer = await makeFundedPayer()
    const { v1 } = await requestChallenge()
    const first = await pay({ 'x-payment': encode(await signV1(payer, v1)) })
    assert.equal(first.status, 200, first.text)
    const { transaction } = first.json.payment
    const { input } = (await chain.rpc('eth_getTransactionByHash', [transaction])) as { input: string }
    const words = input.slice(10).match(/.{64}/g) ?? []
    const number = (place: number) => BigInt(`0x${words[place]}`).toString()
    const rebuilt = {
      x402Version: 1,
      scheme: 'exact',
      network: 'base-sepolia',
      payload: {
        signature: `0x${words[7]}${words[8]}${(words[6] ?? '').slice(-2)}`,
        authorization: {
          from: `0x${(words[0] ?? '').slice(-40)}`,
          to: `0x${(words[1] ?? '').slice(-40)}`,
          value: number(2),
          validAfter: number(3),
          validBefore: number(4),
          nonce: `0x${words[5]}`,
        },
      },
    }
    const headers = { 'x-payment': encode(rebuilt) }
    const replayed = await pay(headers)
    assert.equal(replayed.status, 202, replayed.text)
    assert.equal(replayed.json.status, 'delivered')
    assert.equal(replayed.text.includes(first.json.pohf_jwt), false)
    assert.equal(replayed.headers['x-purchase-id'], undefined)
    assert.equal(replayed.headers['payment-response'], undefined)
    // Neither the status URL that it got, nor an id or a key of its own gives it the delivery.
    const opened = await read(new URL(replayed.json.statusUrl).pathname.split('/').at(-1) ?? '')
    assert.equal(opened.json.status, 'delivered')
    assert.equal(opened.json.delivery, undefined)
    const own = await requestChallenge()
    assert.equal((await pay({ ...headers, 'x-purchase-id': own.purchaseId })).status, 409)
    const keyed = await harness.call('POST', '/api/agent/tasks/wf_test_ok/buy', {
      key: sandbox.apiKey,
      headers,
    })
    assert.equal(keyed.json.pohf_jwt, undefined)
  })

  test('the paying wallet gets its credential again; another wallet, an old proof and a malformed one do not', async () => {
    const payer = await makeFundedPayer()
    const { answer } = await buy(payer)
    const { purchaseId } = answer.json
    const shown = (await read(purchaseId)).json
    const now = Math.floor(harness.ctx.clock.now().getTime() / 1_000)
    const proofBy = async (account: typeof payer.account, time: number) =>
      `${time}.${await account.signMessage({ message: shown.recover.message.replace('{time}', String(time)) })}`
    const good = await read(purchaseId, { 'x-wallet-proof': await proofBy(payer.account, now) })
    assert.deepEqual(good.json.delivery, answer.json)
    for (const proof of [
      await proofBy(makePayer().account, now),
      await proofBy(payer.account, now - 400),
      await proofBy(payer.account, now + 400),
      'x',
      `${now}.0x${'00'.repeat(65)}`,
      '',
    ]) {
      const refused = await read(purchaseId, { 'x-wallet-proof': proof })
      assert.equal(refused.status, 400, proof)
      assert.equal(refused.json.error, 'wallet_signature_invalid')
    }
  })

  test('a payment for one task buys no other, and its id no other payment; nothing is charged for the try', async () => {
    const payer = await makeFundedPayer()
    const { headers, purchaseId, answer } = await buy(payer)
    assert.equal(answer.status, 200)
    const swapped = await pay(headers, 'wf_test_settle_fail')
    assert.equal(swapped.status, 402)
    const { v1 } = await requestChallenge()
    const second = await pay({ 'x-payment': encode(await signV1(payer, v1)), 'x-purchase-id': purchaseId })
    assert.equal(second.status, 409, second.text)
    assert.equal(second.json.error, 'purchase_conflict')
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('tampered, expired, underpaid, to another payee, without money: refused with a reason and uncharged', async () => {
    const payer = await makeFundedPayer()
    const { v2 } = await requestChallenge()
    const good = await signV2(payer, v2)
    const seconds = Math.floor(harness.ctx.clock.now().getTime() / 1_000)
    const tampered = {
      ...good,
      payload: { ...good.payload, authorization: { ...good.payload.authorization, value: '10001' } },
    }
    const before = await harness.owner.query('select count(*) from purchases')
    for (const payment of [
      tampered,
      await signV2(payer, v2, { validBefore: String(seconds - 1) }),
      await signV2(payer, v2, { value: '9999' }),
      await signV2(payer, v2, { to: chain.owner.address }),
      await signV2(payer, v2, { value: '2000000' }),
      await signV2(makePayer(), v2),
    ]) {
      const answer = await pay({ 'payment-signature': encode(payment) })
      assert.equal(answer.status, 402, answer.text)
      assert.equal(answer.json.error, 'payment_invalid')
    }
    assert.deepEqual(
      await harness.owner.query('select count(*) from purchases').then((r) => r.rows),
      before.rows,
    )
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
  })

  test('with a key of the same mode the purchase is the agent’s: listed newest first, by pages, and for nobody else', async () => {
    const payer = await makeFundedPayer()
    const other = await harness.register('test')
    const made: string[] = []
    for (let index = 0; index < 3; index++) {
      const { v2 } = await requestChallenge()
      const headers = { 'payment-signature': encode(await signV2(payer, v2)) }
      const answer = await harness.call('POST', '/api/agent/tasks/wf_test_ok/buy', {
        key: sandbox.apiKey,
        headers,
      })
      assert.equal(answer.status, 200, answer.text)
      made.unshift(answer.json.purchaseId)
    }
    const list = (query: string, key = sandbox.apiKey) =>
      harness.call('GET', `/api/agents/purchases${query}`, { key })
    const page = (await list('?limit=2')).json
    assert.deepEqual(
      page.purchases.map(({ purchaseId }: { purchaseId: string }) => purchaseId),
      made.slice(0, 2),
    )
    assert.equal(page.purchases[0].status, 'delivered')
    const rest = (await list(`?limit=2&cursor=${page.nextCursor}`)).json
    assert.equal(rest.purchases[0].purchaseId, made[2])
    assert.equal(rest.nextCursor, null)
    assert.deepEqual((await list('', other.apiKey)).json.purchases, [])
    assert.equal((await list('?cursor=x')).status, 400)
    const live = await harness.register('live')
    const { v2 } = await requestChallenge()
    const answer = await harness.call('POST', '/api/agent/tasks/wf_test_ok/buy', {
      key: live.apiKey,
      headers: { 'payment-signature': encode(await signV2(payer, v2)) },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual((await list('', live.apiKey)).json.purchases, [])
  })

  test('each delivery has a ledger entry and an event; reconciliation finds a missing entry', async () => {
    const { rows: sums } = await harness.owner.query(
      `select (select coalesce(sum(amount_usdc_micro), 0)::bigint from purchases where state = 'delivered') as sold,
        (select coalesce(sum(balance), 0)::bigint from ledger_accounts where account = 'revenue:purchases') as booked,
        (select count(*)::int from purchases where state = 'delivered') as deliveries,
        (select count(*)::int from events where type = 'purchase.settled') as events`,
    )
    assert.ok(BigInt(sums[0].sold) > 0n)
    assert.equal(sums[0].sold, sums[0].booked)
    assert.equal(sums[0].deliveries, sums[0].events)
    assert.deepEqual((await reconcile(harness.ctx, [purchaseReconciliation])).open, [])
    // A planted fault: a purchase that was paid and never booked.
    await harness.owner.query(
      `insert into purchases (agent_id, mode, purchase_id, secret_hash, workflow_id, network, payer, amount_usdc_micro)
       values ($1, 'test', $2, '\\x00', 'wf_test_ok', 'eip155:84532', '0x', 1)`,
      [sandbox.agentId, `pur_${'p'.repeat(38)}`],
    )
    await harness.owner.query(
      "update purchases set state = 'settled', transaction_hash = '0x1' where purchase_id = $1",
      [`pur_${'p'.repeat(38)}`],
    )
    const { open } = await reconcile(harness.ctx, [purchaseReconciliation])
    assert.equal(open.length, 1)
    assert.match(open[0]?.detail ?? '', /not in the ledger/)
  })

  test('the database refuses a delivery that nobody paid, a changed payment, and a transition that does not exist', async () => {
    const payer = await makeFundedPayer()
    const { answer } = await buy(payer)
    const { purchaseId } = answer.json
    for (const change of [
      "update purchases set state = 'reserved' where purchase_id = $1",
      'update purchases set amount_usdc_micro = 1 where purchase_id = $1',
      "update purchases set response = 'x' where purchase_id = $1",
      "update x402_payments set state = 'claimed' where reference = $1",
      'update x402_payments set value_micro = 1 where reference = $1',
    ])
      await assert.rejects(
        harness.owner.query(change, [purchaseId]),
        /cannot go|never change|stays as it was/,
      )
    await assert.rejects(
      inTransaction(harness.ctx, 'system', (tx) =>
        tx.deleteFrom('x402_payments').where('reference', '=', purchaseId).execute(),
      ),
      /permission denied/,
    )
  })

  test('the attempts of one wallet are limited', async () => {
    const payer = makePayer()
    const { v2 } = await requestChallenge()
    const statuses: number[] = []
    for (let index = 0; index < 125; index++)
      statuses.push((await pay({ 'payment-signature': encode(await signV2(payer, v2)) })).status)
    assert.deepEqual([...new Set(statuses)], [402, 429])
    assert.equal(statuses.filter((status) => status === 402).length, 120)
  })

  test('the manifest says what can be bought, and where', async () => {
    const { json } = await harness.call('GET', '/api/agents/discovery')
    assert.deepEqual(json.settlement.chains, ['eip155:84532'])
    assert.equal(json.settlement.agent_native.configured, true)
    assert.equal(json.status.purchasable_tasks_now, 1)
  })
}
