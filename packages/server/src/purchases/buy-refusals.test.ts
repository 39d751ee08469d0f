import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { encode, makePayer } from '../../test/fixtures/payments/payer.ts'
import { makeX402Clients, startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'
import { makeWorker } from '../../test/fixtures/people/worker.ts'
import {
  assertRefusalOrder,
  namesInOrder,
  refusalNames,
  withoutTriggers,
  type RefusalStep,
} from '../../test/fixtures/refusal-order.ts'
import { insertForgottenPurchase } from '../../test/fixtures/restore.ts'
import { create } from '../operators/index.ts'
import { purchaseRefusals } from './refusals.ts'
import { derivedNonceOf, publicIdOf } from './rules.ts'

const fixture = await startPurchaseHarness({ ADDRESS_LIMITS: 'on' })
if (!fixture) test('refusals of a purchase', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, node, harness, settings } = fixture
  const { owner } = harness
  const withoutChain = await startHarness({ X402_PAY_TO: settings.X402_PAY_TO })
  const home = await harness.register('test')
  const { operatorKey: key } = await create(harness.ctx, 'machine', 'Otto')
  const payer = makePayer()
  const limitedPayer = makePayer()
  const forgedId = `pur_${'a'.repeat(38)}.9999999999.${'A'.repeat(22)}`
  /** The code of a wallet that says yes to every signature. */
  const acceptingWallet = `0x7f1626ba7e${'00'.repeat(28)}60005260206000f3`
  const undeployedWallet = '6492'.repeat(16)
  const invalid = { status: 402, error: 'payment_invalid' } as const
  const malformed = { status: 400, error: 'payment_malformed' } as const
  const conflict = { status: 409, error: 'purchase_conflict' } as const
  const unreachable = { status: 503, error: 'chain_unreachable' } as const

  type BuyFaults = {
    workflowId: string
    /** X-Purchase-Id; undefined for the id of a new challenge. */
    purchaseId?: string | undefined
    queryId?: string | undefined
    headers: 'both' | 'unreadable' | 'one'
    value?: string | undefined
    signatureSuffix: string
    byLimitedPayer?: boolean | undefined
    /** Somebody submits the authorization before it is sent to the server. */
    usedBefore?: boolean | undefined
    /** The nonce derives from the purchase id, as our SDK signs. */
    derivedNonce?: boolean | undefined
  }
  /** Signs an authorization for the workflow as it is now, with these faults, and sends it. */
  const buy = async (at: Pick<typeof harness, 'call' | 'ctx'>, faults: BuyFaults): Promise<TestResponse> => {
    const { workflowId, queryId, headers, value, signatureSuffix } = faults
    const { signV1, requestChallenge } = makeX402Clients(chain, at)
    const offered = workflowId === 'wf_none' ? 'wf_test_ok' : workflowId
    const { v1, purchaseId } = await requestChallenge(offered)
    const signed = await signV1(faults.byLimitedPayer ? limitedPayer : payer, v1, {
      ...(value === undefined ? {} : { value }),
      ...(faults.derivedNonce ? { nonce: derivedNonceOf(faults.purchaseId ?? purchaseId) } : {}),
    })
    const signature = `${signed.payload.signature}${signatureSuffix}`
    const payment = encode({ ...signed, payload: { ...signed.payload, signature } })
    if (faults.usedBefore) await fixture.submitAsStranger(signed)
    return at.call('GET', `/api/agent/tasks/${workflowId}/buy${queryId ? `?purchase_id=${queryId}` : ''}`, {
      headers: {
        'x-payment': headers === 'one' ? payment : 'unreadable',
        ...(headers === 'both' ? { 'payment-signature': 'unreadable' } : {}),
        'x-purchase-id': faults.purchaseId ?? purchaseId,
      },
    })
  }

  const unsettled: BuyFaults = {
    workflowId: 'wf_none',
    purchaseId: forgedId,
    queryId: 'another',
    headers: 'both',
    value: '1',
    signatureSuffix: undeployedWallet,
  }
  const change = (faults: BuyFaults, to: Partial<BuyFaults>) => () => Object.assign(faults, to)
  /** Without a chain: from the headers to the settlement that there is none. */
  const unsettledSteps: readonly RefusalStep[] = [
    {
      name: 'two_payment_headers',
      ...malformed,
      message: /not both/,
      removeReason: change(unsettled, { headers: 'unreadable' }),
    },
    {
      name: 'payment_unreadable',
      ...malformed,
      removeReason: change(unsettled, { headers: 'one' }),
    },
    {
      name: 'different_purchase_ids',
      ...conflict,
      message: /name different purchases/,
      removeReason: change(unsettled, { queryId: undefined }),
    },
    {
      name: 'out_of_stock',
      status: 409,
      error: 'out_of_stock',
      removeReason: change(unsettled, { workflowId: 'wf_test_settle_fail' }),
    },
    {
      name: 'purchase_id_not_issued',
      ...invalid,
      message: /was not issued for this task/,
      removeReason: change(unsettled, { purchaseId: undefined }),
    },
    {
      name: 'payment_terms_differ',
      ...invalid,
      message: /too small/,
      removeReason: change(unsettled, { value: undefined }),
    },
    {
      name: 'signature_invalid',
      ...invalid,
      message: /ERC-6492/,
      removeReason: change(unsettled, { signatureSuffix: '' }),
    },
    {
      name: 'test_settlement_fails',
      ...invalid,
      message: /simulates a failed settlement/,
      removeReason: change(unsettled, { workflowId: 'wf_test_ok' }),
    },
    {
      name: 'chain_not_configured',
      ...unreachable,
      removeReason: change(unsettled, { workflowId: 'wf_test_settle_timeout' }),
    },
  ]

  test('a payment that no chain settles is refused in the order of the list', async () => {
    const answer = await assertRefusalOrder(() => buy(withoutChain, unsettled), unsettledSteps)
    assert.equal(answer.status, 202, answer.text)
  })

  /** One unit in stock: the operator orders it, a person delivers it, and its review period ends. */
  const produceUnit = async (question: string) => {
    const body = { workflowId: 'wf_judge', mode: 'test', quantity: 1, items: [{ question }] }
    const ordered = await harness.callOperator('POST', '/operator/work/produce', { key, body })
    assert.equal(ordered.status, 200, ordered.text)
    const worker = await makeWorker(harness, home)
    const delivered = await worker.work('wf_judge', { judgement: `What I think of ${question}`, sure: 4 })
    assert.equal(delivered.status, 200, delivered.text)
    await withoutTriggers(
      owner,
      "update order_units set review_until = pohf_now() where status = 'delivered'",
    )
    await harness.advance(1_000)
    await harness.runJobs()
  }

  const takeLastUnit = async (method: string) => {
    if (method === 'eth_call' || method === 'eth_estimateGas')
      await owner.query("update order_units set stock = 'taken' where stock = 'shelf'")
    return 'pass' as const
  }

  const settled: BuyFaults = {
    workflowId: 'wf_judge',
    headers: 'one',
    signatureSuffix: undeployedWallet,
    byLimitedPayer: true,
    usedBefore: true,
  }
  /** Payments of a payer with code, in these states, and one that uses up the budget of the day. */
  const plantContractPayments = async () => {
    const from = `insert into x402_payments (chain_id, asset, payer, nonce, reference, pay_to, value_micro, valid_after,
      valid_before, signature, form, from_block, gas_limit, gas_lost, failed_at) select 84532, '0x${'aa'.repeat(20)}', payer,
      '0x' || repeat(n::text, 64), 'planted ' || n, '0x${'bb'.repeat(20)}', 1, 0, 1, '0x00', 'contract', 0, gas, lost, failed`
    await owner.query(
      `${from} from (values (1, $1::text, 1::bigint, 1::bigint, pohf_now()), (2, $1, 1, null, null),
        (3, '0x${'cc'.repeat(20)}', 1000000000, null, null)) each (n, payer, gas, lost, failed)`,
      [payer.account.address.toLowerCase()],
    )
    await chain.rpc('anvil_setCode', [payer.account.address, acceptingWallet])
  }
  /** Ends a planted payment: it settled, and never failed. */
  const settlePlanted = (n: number) => () =>
    withoutTriggers(
      owner,
      `update x402_payments set failed_at = null, gas_lost = null, state = 'settled', transaction_hash = '0x${'00'.repeat(32)}',
        block_number = 1, finalized_at = pohf_now() where reference = 'planted ${n}'`,
    )
  /** With a chain: from the signature to the gas account. The last unit is taken while the chain is asked. */
  const settledSteps: readonly RefusalStep[] = [
    {
      name: 'signature_invalid',
      ...invalid,
      message: /ERC-6492/,
      removeReason: change(settled, { signatureSuffix: '' }),
    },
    {
      name: 'payer_rate_limited',
      status: 429,
      error: 'rate_limited',
      limit: 'payer',
      removeReason: change(settled, { byLimitedPayer: false }),
    },
    {
      name: 'signer_not_ready',
      status: 503,
      error: 'overloaded',
      message: /The signer does not answer/,
      removeReason: () => harness.startSigner(),
    },
    {
      name: 'network_rate_limited',
      status: 429,
      error: 'rate_limited',
      limit: 'payments_key',
      removeReason: () => harness.advance(61_000),
    },
    {
      name: 'chain_unreachable',
      ...unreachable,
      removeReason: () => node.setFaultRule(takeLastUnit),
    },
    {
      name: 'simulation_failed',
      ...invalid,
      message: /The chain would refuse the payment/,
      removeReason: () => chain.mint(payer.account.address, 10_000_000n),
    },
    {
      name: 'authorization_used_before',
      ...conflict,
      message: /was used on the chain before it was sent here/,
      removeReason: async () => {
        settled.derivedNonce = true
        await insertForgottenPurchase(harness, publicIdOf(settled.purchaseId ?? ''))
      },
    },
    {
      name: 'delivered_before_restore',
      ...conflict,
      message: /was delivered before the database was restored/,
      removeReason: async () => {
        settled.derivedNonce = false
        settled.usedBefore = false
        await withoutTriggers(owner, 'delete from forgotten_credentials')
      },
    },
    {
      name: 'purchase_id_paid',
      ...conflict,
      message: /paid for with another authorization/,
      removeReason: async () => {
        settled.purchaseId = undefined
        await plantContractPayments()
      },
    },
    {
      name: 'contract_wallet_refused',
      status: 403,
      error: 'contract_wallet_refused',
      removeReason: settlePlanted(1),
    },
    {
      name: 'contract_wallet_busy',
      status: 409,
      error: 'contract_wallet_busy',
      removeReason: settlePlanted(2),
    },
    {
      name: 'contract_wallets_paused',
      status: 503,
      error: 'contract_wallets_paused',
      removeReason: settlePlanted(3),
    },
    {
      name: 'no_unit_left',
      status: 409,
      error: 'out_of_stock',
      message: /Nothing was charged/,
      removeReason: () => node.setFaultRule(() => 'pass'),
    },
    {
      name: 'no_gas_account',
      ...unreachable,
      removeReason: () => owner.query('update gas_keys set low = false'),
    },
  ]
  /** Sends the payment with the unit in stock again, whatever the last call did to it. */
  const buyUnit = async () => {
    await owner.query("update order_units set stock = 'shelf' where stock = 'taken'")
    return buy(harness, settled)
  }
  /** A purchase id that a purchase of this workflow has already. */
  const buyWithAnother = async (): Promise<string> => {
    const { makeFundedPayer, requestChallenge, signV1, pay } = fixture
    const { v1, purchaseId } = await requestChallenge('wf_judge')
    const payment = encode(await signV1(await makeFundedPayer(), v1))
    const bought = await pay({ 'x-payment': payment, 'x-purchase-id': purchaseId }, 'wf_judge')
    assert.equal(bought.status, 200, bought.text)
    return purchaseId
  }

  test('a payment that the chain settles is refused in the order of the list', async () => {
    await produceUnit('One.')
    settled.purchaseId = await buyWithAnother()
    await produceUnit('Two.')
    await owner.query('update gas_keys set low = true')
    node.setFaultRule(() => 'drop')
    // The limits in a minute: 120 attempts of one wallet, of which 60 from one network reach the chain.
    const attempt = { ...settled, signatureSuffix: '' }
    for (let count = 0; count < 120; count++)
      assert.equal((await buy(harness, attempt)).status, count < 60 ? 503 : 429)
    await harness.stopSigner()
    await harness.advance(5_000)
    const answer = await assertRefusalOrder(buyUnit, settledSteps)
    assert.equal(answer.status, 200, answer.text)
  })

  const known: Pick<BuyFaults, 'workflowId' | 'purchaseId' | 'queryId'> = {
    workflowId: 'wf_test_ok',
    purchaseId: forgedId,
    queryId: 'another',
  }
  const knownSteps: readonly RefusalStep[] = [
    {
      name: 'different_purchase_ids',
      ...conflict,
      message: /name different purchases/,
      removeReason: () => {
        known.queryId = undefined
      },
    },
    {
      name: 'other_task',
      ...conflict,
      message: /for another task/,
      removeReason: () => {
        known.workflowId = 'wf_judge'
      },
    },
    {
      name: 'other_purchase',
      ...conflict,
      removeReason: () => {
        known.purchaseId = undefined
      },
    },
    {
      name: 'payment_void',
      ...invalid,
      message: /did not settle/,
      removeReason: () =>
        withoutTriggers(
          owner,
          "update purchases set state = 'uncertain', due_at = pohf_now() where state = 'void'",
        ),
    },
  ]

  test('a payment that is known is refused by its purchase alone, in the order of the list', async () => {
    const { requestChallenge, makeFundedPayer, signV1, pay } = fixture
    await produceUnit('Three.')
    const { v1 } = await requestChallenge('wf_judge')
    const headers = { 'x-payment': encode(await signV1(await makeFundedPayer(), v1)) }
    node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'drop' : 'pass'))
    const pending = await pay(headers, 'wf_judge')
    assert.equal(pending.status, 202, pending.text)
    await withoutTriggers(
      owner,
      "update purchases set state = 'void', reason = 'it ended', due_at = null where state = 'uncertain'",
    )
    const answer = await assertRefusalOrder(() => {
      const { workflowId, purchaseId, queryId } = known
      const path = `/api/agent/tasks/${workflowId}/buy${queryId ? `?purchase_id=${queryId}` : ''}`
      return harness.call('GET', path, {
        headers: { ...headers, ...(purchaseId ? { 'x-purchase-id': purchaseId } : {}) },
      })
    }, knownSteps)
    assert.equal(answer.status, 202, answer.text)
    node.setFaultRule(() => 'pass')
  })

  test('the tests above name every refusal of a purchase, in the order of the list', () => {
    const names = namesInOrder(unsettledSteps, settledSteps, knownSteps)
    assert.deepEqual(names, refusalNames(purchaseRefusals))
  })
}
