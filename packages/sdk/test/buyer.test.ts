import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { keccak256, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import {
  createBuyer,
  createClient,
  PohfError,
  PohfUnreachable,
  PurchaseError,
  resumePurchase,
  type Progress,
  type TypedData,
} from '../src/index.ts'
import { startPurchaseServer } from './purchase-server.ts'

const { harness, baseUrl, withChain, fund, usedNonces } = await startPurchaseServer()

/** A wallet that remembers what it was asked to sign. */
const makeWallet = () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const asked: TypedData[] = []
  return {
    address: account.address,
    asked,
    signTypedData: (data: TypedData) => (asked.push(data), account.signTypedData(data)),
  }
}
const fundedWallet = async () => {
  const wallet = makeWallet()
  await fund(wallet.address)
  return wallet
}
const noWait = async () => undefined
const failsWith =
  (code: string, charged = 'no') =>
  (error: unknown) => {
    assert.ok(error instanceof PurchaseError, String(error))
    assert.deepEqual([error.code, error.charged], [code, charged], error.message)
    return true
  }

test('a price above the limit, or another network, token or recipient is refused, and nothing is signed', async () => {
  const wallet = makeWallet()
  const settings = { baseUrl, wallet, maxUsd: 1 }
  for (const [limits, code] of [
    [{ maxUsd: 0.009_999 }, 'price_above_cap'],
    [{ networks: ['base'] as const }, 'terms_refused'],
    [{ networks: [] }, 'terms_refused'],
    [{ payTo: wallet.address }, 'terms_refused'],
    [{ asset: wallet.address }, 'terms_refused'],
  ] as const)
    await assert.rejects(createBuyer({ ...settings, ...limits }).buy('wf_test_ok'), failsWith(code))
  assert.equal(wallet.asked.length, 0)
})

test('a cap that is no number is a mistake of the caller', async () => {
  for (const maxUsd of [Number.NaN, 0, -1, Number.POSITIVE_INFINITY])
    await assert.rejects(createBuyer({ baseUrl, wallet: makeWallet(), maxUsd }).buy('wf_test_ok'), TypeError)
})

test('an issuer that no credential can have is a mistake of the caller, found before anything is sent', async () => {
  const sent: unknown[] = []
  const through: typeof fetch = async (input) => {
    sent.push(input)
    return Response.error()
  }
  for (const issuer of [`${baseUrl}/`, 'https://POHF.example', 'https://pohf.example:443', 'pohf.example']) {
    const service = { baseUrl, issuer, fetch: through }
    await assert.rejects(createBuyer({ ...service, wallet: makeWallet(), maxUsd: 1 }).buy('wf_test_ok'), {
      name: 'TypeError',
      message: /issuer must be/,
    })
    await assert.rejects(resumePurchase(service, 'pur_1'), TypeError)
  }
  assert.deepEqual(sent, [])
})

test('what was paid is checked through the fetch of the settings, and what cannot be checked is refused as paid', async () => {
  const [header, payload] = [{ alg: 'ES256', typ: 'JWT', kid: 'k' }, {}].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const token = `${header}.${payload}.${'A'.repeat(86)}`
  for (const [delivery, read] of [
    [{ pohf_jwt: token }, ['/api/agent/purchases/pur_1', '/.well-known/jwks.json']],
    [null, ['/api/agent/purchases/pur_1']],
  ] as const) {
    const asked: string[] = []
    const through: typeof fetch = async (input) => {
      const { pathname } = new URL(new Request(input).url)
      asked.push(pathname)
      return Response.json(pathname === '/.well-known/jwks.json' ? { keys: [] } : { delivery })
    }
    const service = { baseUrl: 'https://pohf.example', fetch: through }
    await assert.rejects(resumePurchase(service, 'pur_1'), failsWith('credential_refused', 'yes'))
    assert.deepEqual(asked, read)
  }
})

test('out of stock, an unreachable service, and a wallet that refuses: nothing is charged', async () => {
  const wallet = makeWallet()
  await assert.rejects(createBuyer({ baseUrl, wallet, maxUsd: 1 }).buy('wf_none'), (error) => {
    assert.ok(error instanceof PurchaseError && error.cause instanceof PohfError)
    assert.equal(error.cause.code, 'out_of_stock')
    return failsWith('refused')(error)
  })
  const away = createBuyer({ baseUrl: 'http://127.0.0.1:1', wallet, maxUsd: 1 })
  await assert.rejects(away.buy('wf_test_ok'), PohfUnreachable)
  const unwilling = { ...wallet, signTypedData: () => Promise.reject(new Error('no')) }
  await assert.rejects(
    createBuyer({ baseUrl, wallet: unwilling, maxUsd: 1 }).buy('wf_test_ok'),
    failsWith('not_signed'),
  )
  assert.equal(wallet.asked.length, 0)
})

test('contract wallets: a pause ends the purchase uncharged, and a pending payment is waited for', async () => {
  const wallet = makeWallet()
  const buyWith = async (answers: readonly (readonly [status: number, error: string])[]) => {
    const left = [...answers]
    let sent = 0
    const through: typeof fetch = async (url, options) => {
      if (!new Headers(options?.headers).has('x-payment')) return fetch(url, options)
      sent += 1
      const [status, error] = left.shift() ?? [402, 'payment_invalid']
      return new Response(JSON.stringify({ error, message: error }), {
        status,
        headers: { 'content-type': 'application/json' },
      })
    }
    const buyer = createBuyer({ baseUrl, wallet, maxUsd: 1, fetch: through, wait: noWait })
    await assert.rejects(buyer.buy('wf_test_ok'), failsWith('refused'))
    return sent
  }
  assert.equal(await buyWith([[503, 'contract_wallets_paused']]), 1)
  assert.equal(await buyWith([[403, 'contract_wallet_refused']]), 1)
  assert.equal(
    await buyWith([
      [409, 'contract_wallet_busy'],
      [409, 'contract_wallet_busy'],
    ]),
    3,
  )
})

/** Mostly what is good, so that some challenges get as far as the wallet. */
const mostly = <T>(good: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: other })

test('whatever a challenge says, nothing beyond the limits is ever signed', async () => {
  const usdc = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
  const payTo = '0x1111111111111111111111111111111111111111'
  const amounts = fc.oneof(fc.constantFrom('10000', '100000', '100001', '-1', '1e3'), fc.nat().map(String))
  const entry = fc.record({
    scheme: mostly('exact', fc.string()),
    network: mostly('base-sepolia', fc.constantFrom('base', 'toString', 'eip155:84532', '')),
    maxAmountRequired: amounts,
    payTo: mostly(payTo, fc.constantFrom(usdc, '0x', 'me')),
    asset: mostly(usdc, fc.constantFrom(payTo, '0x', 'gold')),
    maxTimeoutSeconds: mostly(120, fc.oneof(fc.integer(), fc.double())),
    extra: mostly<unknown>({ name: 'USDC', version: '2' }, fc.oneof(fc.object(), fc.constant(null))),
  })
  const challenge = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({ accepts: fc.array(entry, { maxLength: 4 }), purchase_id: fc.string() }),
    },
    { weight: 1, arbitrary: fc.anything() },
  )
  let signed = 0
  await fc.assert(
    fc.asyncProperty(challenge, async (body) => {
      const wallet = makeWallet()
      const answers = [
        new Response(JSON.stringify(body) ?? 'null', {
          status: 402,
          headers: { 'content-type': 'application/json' },
        }),
        new Response('{"error":"payment_invalid"}', {
          status: 402,
          headers: { 'content-type': 'application/json' },
        }),
      ]
      const through = async () => answers.shift() ?? Response.error()
      const buyer = createBuyer({
        baseUrl,
        wallet,
        maxUsd: 0.1,
        payTo,
        networks: ['base-sepolia'],
        fetch: through,
      })
      await assert.rejects(buyer.buy('wf_test_ok'), PurchaseError)
      for (const { domain, message } of wallet.asked) {
        signed += 1
        assert.ok(message.value <= 100_000n && message.value >= 0n)
        assert.deepEqual([domain.chainId, domain.verifyingContract, message.to], [84_532, usdc, payTo])
        assert.ok(message.validBefore - message.validAfter <= 720n)
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(signed > 10, `only ${signed} were signed`)
})

test(
  'one call buys: paid once, a credential that verifies, and the chain names the purchase',
  withChain,
  async () => {
    const wallet = await fundedWallet()
    const steps: Progress[] = []
    const buyer = createBuyer({ baseUrl, wallet, maxUsd: 0.01 })
    const bought = await buyer.buy('wf_test_ok', { onProgress: (progress) => void steps.push(progress) })
    assert.equal(bought.claims.purchase?.workflow, 'wf_test_ok')
    assert.equal(bought.claims.purchase?.transaction, bought.payment.transaction)
    assert.equal(bought.claims.test, true)
    assert.deepEqual(
      steps.map(({ step }) => step),
      ['quoted', 'signed', 'sent', 'delivered'],
    )
    const [{ purchaseId } = { purchaseId: '' }] = steps
    assert.deepEqual(await usedNonces(wallet.address), [keccak256(toHex(`pohf-x402:${purchaseId}`))])

    const again = await buyer.resume(purchaseId)
    assert.equal(again.pohf_jwt, bought.pohf_jwt)
    assert.equal((await resumePurchase({ baseUrl }, purchaseId)).pohf_jwt, bought.pohf_jwt)
    assert.equal(wallet.asked.length, 1)
  },
)

test('an agent that buys with its key has the purchase in its list', withChain, async () => {
  const { apiKey } = await harness.register()
  const buyer = createBuyer({ baseUrl, wallet: await fundedWallet(), maxUsd: 1, apiKey })
  const bought = await buyer.buy('wf_test_ok')
  const { purchases } = await createClient({ baseUrl, apiKey }).work.purchasesList()
  assert.deepEqual(
    purchases.map(({ credentialId }) => credentialId),
    [bought.credentialId],
  )
})

test(
  'lost answers are asked for again with the same authorization: signed once, charged once',
  withChain,
  async () => {
    const wallet = await fundedWallet()
    const payments: (string | null)[] = []
    let lost = 0
    const through: typeof fetch = async (input, init) => {
      const payment = new Headers(init?.headers).get('x-payment')
      if (payment !== null) payments.push(payment)
      // Once before the service saw it, twice after it acted.
      if (payment !== null && lost === 0) {
        lost += 1
        throw new TypeError('the line is cut')
      }
      const response = await fetch(input, init)
      if (payment === null || lost >= 3) return response
      lost += 1
      throw new TypeError('the line is cut')
    }
    const buyer = createBuyer({ baseUrl, wallet, maxUsd: 1, fetch: through, wait: noWait })
    assert.ok((await buyer.buy('wf_test_ok')).pohf_jwt)
    assert.equal(payments.length, 4)
    assert.equal(new Set(payments).size, 1)
    assert.equal(wallet.asked.length, 1)
    assert.equal((await usedNonces(wallet.address)).length, 1)
  },
)

/** The service sees every payment, and its answers get lost. */
const cutAfterPayment: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (new Headers(init?.headers).has('x-payment')) throw new TypeError('the line is cut')
  return response
}

test('a buyer that gives up says that the outcome is open, and resume finds it', withChain, async () => {
  const wallet = await fundedWallet()
  const buyer = createBuyer({ baseUrl, wallet, maxUsd: 1, fetch: cutAfterPayment, wait: noWait, waitMs: 0 })
  const error = await buyer.buy('wf_test_ok').catch((fault: unknown) => fault)
  assert.ok(failsWith('open', 'unknown')(error) && error instanceof PurchaseError)
  const found = await buyer.resume(error.purchaseId ?? '')
  assert.equal(found.claims.purchase?.payer.toLowerCase(), wallet.address.toLowerCase())
  assert.equal((await usedNonces(wallet.address)).length, 1)
  assert.equal(wallet.asked.length, 1)
})

test('after 202 the buyer waits as the service asks, repeats the same authorization, and never reports a failure', async () => {
  const stop = new AbortController()
  const waits: number[] = []
  const payments = new Set<string | null>()
  const steps: Progress[] = []
  const through: typeof fetch = (input, init) => {
    payments.add(new Headers(init?.headers).get('x-payment'))
    return fetch(input, init)
  }
  const wait = async (ms: number) => {
    if (waits.push(ms) === 3) stop.abort()
  }
  const wallet = makeWallet()
  const buyer = createBuyer({ baseUrl, wallet, maxUsd: 1, fetch: through, wait })
  const options = { signal: stop.signal, onProgress: (progress: Progress) => void steps.push(progress) }
  await assert.rejects(buyer.buy('wf_test_settle_timeout', options), failsWith('open', 'unknown'))
  assert.equal(waits.length, 3)
  assert.ok(waits.every((ms) => ms >= 1_000 && ms === waits[0]))
  // The question without payment, and one payment.
  assert.equal(payments.size, 2)
  assert.equal(wallet.asked.length, 1)
  assert.ok(steps.some((progress) => progress.step === 'waiting' && /uncertain/.test(progress.why)))
})

test(
  'an empty wallet, a settlement that fails and an unknown purchase are told, and nothing is charged',
  withChain,
  async () => {
    const empty = makeWallet()
    await assert.rejects(
      createBuyer({ baseUrl, wallet: empty, maxUsd: 1 }).buy('wf_test_ok'),
      failsWith('refused'),
    )
    const wallet = await fundedWallet()
    const buyer = createBuyer({ baseUrl, wallet, maxUsd: 1 })
    await assert.rejects(buyer.buy('wf_test_settle_fail'), failsWith('refused'))
    await assert.rejects(buyer.resume(`pur_${'a'.repeat(38)}`), failsWith('not_found'))
    assert.deepEqual(await usedNonces(wallet.address), [])
  },
)

test(
  'a delivered credential that does not verify is an error that keeps what was delivered',
  withChain,
  async () => {
    const other = await createBuyer({ baseUrl, wallet: await fundedWallet(), maxUsd: 1 }).buy('wf_test_ok')
    for (const token of [other.pohf_jwt, `${other.pohf_jwt.slice(0, -4)}AAAA`, 'nothing']) {
      const through: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        if (response.status !== 200 || !new Headers(init?.headers).has('x-payment')) return response
        return Response.json({ ...((await response.json()) as object), pohf_jwt: token })
      }
      const buyer = createBuyer({ baseUrl, wallet: await fundedWallet(), maxUsd: 1, fetch: through })
      await assert.rejects(buyer.buy('wf_test_ok'), failsWith('credential_refused', 'yes'))
    }
  },
)

test(
  'a buyer that is stopped after the payment was sent reports that the outcome is open',
  withChain,
  async () => {
    const stop = new AbortController()
    const wallet = await fundedWallet()
    const through: typeof fetch = async (input, init) => {
      if (new Headers(init?.headers).has('x-payment')) stop.abort()
      return fetch(input, init)
    }
    const buyer = createBuyer({ baseUrl, wallet, maxUsd: 1, fetch: through })
    await assert.rejects(buyer.buy('wf_test_ok', { signal: stop.signal }), failsWith('open', 'unknown'))
  },
)

test(
  'a question is paid once with the key that asked it; a cap below its price signs nothing',
  withChain,
  async () => {
    const { apiKey } = await harness.register('test')
    const client = createClient({ baseUrl, apiKey })
    const asked = await client.questions.ask({ question: 'Is tea a soup?', budgetUsd: 1, payWith: 'x402' })
    const wallet = await fundedWallet()
    const settings = { baseUrl, apiKey, wallet }
    await assert.rejects(
      createBuyer({ ...settings, maxUsd: 0.49 }).payQuestion(asked.questionId),
      failsWith('price_above_cap'),
    )
    assert.equal(wallet.asked.length, 0)
    await assert.rejects(createBuyer({ baseUrl, wallet, maxUsd: 1 }).payQuestion(asked.questionId), TypeError)
    const paid = await createBuyer({ ...settings, maxUsd: 0.5 }).payQuestion(asked.questionId)
    assert.deepEqual([paid.status, paid.payment.amount, wallet.asked.length], ['queued', '500000', 1])
    await assert.rejects(
      createBuyer({ ...settings, maxUsd: 0.5 }).payQuestion(asked.questionId),
      failsWith('refused'),
    )
    assert.equal((await usedNonces(wallet.address)).length, 1)
  },
)
