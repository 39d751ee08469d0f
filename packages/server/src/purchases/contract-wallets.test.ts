import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hex } from 'viem'
import type { CallOutcome } from '../../test/fixtures/payments/chain-proxy.ts'
import { startFacilitator } from '../../test/fixtures/payments/facilitator.ts'
import {
  compileWallets,
  switchWallet,
  type WalletCode,
} from '../../test/fixtures/payments/contract-wallets.ts'
import { encode, makePayer } from '../../test/fixtures/payments/payer.ts'
import { makeX402Clients, startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'
import { startHarness, type Harness, type TestResponse } from '../../test/fixtures/harness.ts'
import { buildApp, buildContext } from '../wiring/index.ts'

const errorsOf = (answers: readonly TestResponse[]) =>
  answers.map(({ status, json }) => `${status} ${json.error ?? json.status}`)

/** Room for three pending payments of the wallets below, each with a limit of about 90,000. */
const gasPerDay = 300_000n
const fixture = await startPurchaseHarness({ X402_CONTRACT_GAS_PER_DAY: String(gasPerDay) })
if (!fixture) test('contract wallets', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, node, harness, settings, advanceChain, balanceOf } = fixture
  const { burnsInBlocks, switchable } = compileWallets()
  const dayMs = 86_400_000
  const price = 10_000n

  const deployWallet = async ({ bytecode }: WalletCode): Promise<Hex> => {
    const { address } = await chain.deploy(bytecode)
    await chain.mint(address, 1_000_000n)
    return address
  }
  type Server = Pick<Harness, 'call' | 'ctx'>
  /** A payment of a contract wallet; the wallets above do not look at the signature. */
  const signFor = async (wallet: Hex, server: Server = harness) => {
    const { v2 } = await makeX402Clients(chain, server).requestChallenge()
    const seconds = Math.floor(server.ctx.clock.now().getTime() / 1_000)
    const authorization = makePayer().authorize(v2, seconds, { from: wallet })
    const payload = { signature: `0x${'22'.repeat(70)}`, authorization }
    return { 'payment-signature': encode({ x402Version: 2, payload, accepted: v2, extensions: {} }) }
  }
  const payFrom = async (wallet: Hex, server: Server = harness): Promise<TestResponse> =>
    makeX402Clients(chain, server).pay(await signFor(wallet, server))
  /** Changes the wallets while our transaction is on its way to the node: each simulation has passed by then. */
  const failWhenSent = (wallets: readonly Hex[], fail: (wallet: Hex) => Promise<unknown>) => {
    node.setFaultRule(async (method): Promise<CallOutcome> => {
      if (method.startsWith('eth_sendRaw')) for (const wallet of wallets) await fail(wallet)
      return 'pass'
    })
  }
  /** Transactions and gas of the gas accounts that moved nothing. */
  const failedTransactions = async (server: Pick<Harness, 'owner'> = harness) => {
    const { rows } = await server.owner.query<{ hash: Hex }>('select hash from gas_transactions')
    const receipts = await Promise.all(rows.map(({ hash }) => chain.rpc('eth_getTransactionReceipt', [hash])))
    const failed = (receipts as ({ status: Hex; gasUsed: Hex } | null)[]).filter(
      (receipt) => receipt?.status === '0x0',
    )
    return { count: failed.length, gas: failed.reduce((sum, each) => sum + BigInt(each?.gasUsed ?? 0), 0n) }
  }
  /** Ends the pending payments and the time in which they count. */
  const passOneDay = async () => {
    node.setFaultRule(() => 'pass')
    await advanceChain(200_000)
    for (let round = 0; round < 3; round++) {
      await harness.advance(70_000)
      await harness.runJobs()
    }
    await harness.advance(dayMs)
    await advanceChain(dayMs + 10_000)
  }

  test('a wallet that tells a simulation from a block is simulated as the block runs it: no gas is spent', async () => {
    const wallet = await deployWallet(burnsInBlocks)
    const answer = await payFrom(wallet)
    assert.equal(answer.status, 402, answer.text)
    assert.deepEqual(await failedTransactions(), { count: 0, gas: 0n })
    assert.equal((await harness.owner.query('select from gas_transactions')).rowCount, 0)
  })

  test('an account that delegates to such a contract (EIP-7702) and signs with its key spends no gas either', async () => {
    const target = await deployWallet(burnsInBlocks)
    const payer = await fixture.makeFundedPayer()
    await chain.rpc('anvil_setCode', [payer.account.address, `0xef0100${target.slice(2)}`])
    const { answer } = await fixture.buy(payer)
    assert.equal(answer.status, 402, answer.text)
    assert.equal((await harness.owner.query('select from gas_transactions')).rowCount, 0)
  })

  test('a wallet that changes after the simulation costs one transaction with little gas, and is then refused', async () => {
    for (const [mode, name] of [
      ['burns', 'burns all gas'],
      ['reverts', 'reverts'],
      ['says no', 'says no'],
    ] as const) {
      const wallet = await deployWallet(switchable)
      const before = await failedTransactions()
      failWhenSent([wallet], (each) => switchWallet(chain, each, mode))
      const answers = await Promise.all(Array.from({ length: 10 }, () => payFrom(wallet)))
      node.setFaultRule(() => 'pass')
      const statuses = errorsOf(answers).toSorted()
      assert.deepEqual(statuses.slice(0, 1), ['202 broadcast'], name)
      for (const each of statuses.slice(1)) assert.match(each, /^(409 contract_wallet_busy|403|402)/, name)
      const after = await failedTransactions()
      assert.equal(after.count - before.count, 1, name)
      // An honest transfer takes 68,000 to 90,000.
      assert.ok(after.gas - before.gas <= 110_000n, `${name}: ${after.gas - before.gas}`)
      // It pays again in simulations, and is refused all the same.
      await switchWallet(chain, wallet, 'pays')
      assert.deepEqual(errorsOf([await payFrom(wallet)]), ['403 contract_wallet_refused'], name)
      assert.equal((await failedTransactions()).count, after.count, name)
    }
    await passOneDay()
  })

  test('a wallet whose code is replaced between simulation and block costs one transaction, and is then refused', async () => {
    const wallet = await deployWallet(switchable)
    const before = await failedTransactions()
    failWhenSent([wallet], (each) => chain.rpc('anvil_setCode', [each, burnsInBlocks.runtime]))
    const answer = await payFrom(wallet)
    assert.equal(answer.status, 202, answer.text)
    node.setFaultRule(() => 'pass')
    await chain.rpc('anvil_setCode', [wallet, switchable.runtime])
    assert.deepEqual(errorsOf([await payFrom(wallet)]), ['403 contract_wallet_refused'])
    const after = await failedTransactions()
    assert.ok(after.count === before.count + 1 && after.gas - before.gas <= 110_000n)
    await passOneDay()
  })

  test('any number of such wallets costs no more than the budget of a day; ordinary wallets go on', async () => {
    // The first payment that an address receives needs 20,000 more than the next.
    assert.equal((await fixture.buy(await fixture.makeFundedPayer())).answer.status, 200)
    const before = await failedTransactions()
    const wallets: Hex[] = []
    for (let count = 0; count < 12; count++) wallets.push(await deployWallet(switchable))
    failWhenSent(wallets, (wallet) => switchWallet(chain, wallet, 'burns'))
    const answers = await Promise.all(wallets.slice(0, 8).map((wallet) => payFrom(wallet)))
    assert.ok(errorsOf(answers).includes('503 contract_wallets_paused'), errorsOf(answers).join(', '))
    // A failed payment counts with the gas that it used, which leaves a little for the next.
    for (const wallet of wallets.slice(8)) {
      await switchWallet(chain, wallet, 'pays')
      answers.push(await payFrom(wallet))
    }
    node.setFaultRule(() => 'pass')
    assert.deepEqual(errorsOf(answers.slice(-1)), ['503 contract_wallets_paused'])
    const lost = (await failedTransactions()).gas - before.gas
    assert.ok(lost > 0n && lost <= gasPerDay, String(lost))
    const refused = answers.find(({ status }) => status === 503)
    assert.ok(Number(refused?.headers['retry-after']) > 0)

    const payer = await fixture.makeFundedPayer()
    const { answer } = await fixture.buy(payer)
    assert.equal(answer.status, 200, answer.text)

    // A new process on the same database knows what was spent.
    const context = buildContext({
      config: harness.ctx.config,
      log: harness.ctx.log,
      name: 'restarted',
      clock: harness.ctx.clock,
    })
    const restarted = buildApp(context, [])
    await restarted.api.ready()
    const headers = await signFor(await deployWallet(switchable))
    const again = await restarted.api.inject({ url: '/api/agent/tasks/wf_test_ok/buy', headers })
    assert.equal(again.statusCode, 503, again.body)
    await restarted.api.close()
    await context.db.end()
    assert.equal((await failedTransactions()).gas - before.gas, lost)

    await passOneDay()
    const honest = await deployWallet(switchable)
    const paid = await payFrom(honest)
    assert.equal(paid.status, 200, paid.text)
    assert.equal(await balanceOf(honest), 1_000_000n - price)
  })

  test('a payment by another transaction does not hide that ours failed', async () => {
    const wallet = await deployWallet(switchable)
    const headers = await signFor(wallet)
    failWhenSent([wallet], (each) => switchWallet(chain, each, 'burns'))
    const answer = await fixture.pay(headers)
    assert.equal(answer.status, 202, answer.text)
    node.setFaultRule(() => 'pass')
    await switchWallet(chain, wallet, 'pays')
    await fixture.submitAsContract(headers)
    await harness.advance(5_000)
    const paid = await fixture.pay(headers)
    assert.equal(paid.status, 200, paid.text)
    assert.deepEqual(errorsOf([await payFrom(wallet)]), ['403 contract_wallet_refused'])
    await passOneDay()
  })

  test('through a facilitator: one call for a failing wallet, then it is refused, and the budget holds', async () => {
    const { state, url } = await startFacilitator(fixture)
    const { X402_GAS_KEYS_FILE: _, ...others } = settings
    const server = await startHarness({ ...others, X402_FACILITATOR_URL: url })
    // The chain is as far ahead as the clock of the other server.
    await server.advance(harness.ctx.clock.now().getTime() - Date.now())
    const wallets: Hex[] = []
    for (let count = 0; count < 6; count++) wallets.push(await deployWallet(switchable))
    state.behaviour = 'fails'
    const answers = await Promise.all(wallets.map((each) => payFrom(each, server)))
    const settles = () => state.calls.filter((endpoint) => endpoint === 'settle').length
    assert.ok(errorsOf(answers).includes('503 contract_wallets_paused'), errorsOf(answers).join(', '))
    assert.equal(settles(), answers.filter(({ status }) => status === 202).length)
    assert.ok(settles() <= 3)
    const calls = settles()
    for (let round = 0; round < 3; round++) {
      await server.advance(20_000)
      await server.runJobs()
    }
    assert.equal(settles(), calls, 'a pending payment of a wallet with code is not sent again')
    await advanceChain(400_000)
    for (let round = 0; round < 3; round++) {
      await server.advance(130_000)
      await server.runJobs()
    }
    const failed = wallets[answers.findIndex(({ status }) => status === 202)] ?? '0x'
    assert.deepEqual(errorsOf([await payFrom(failed, server)]), ['403 contract_wallet_refused'])
    assert.equal(settles(), calls)
  })
}
