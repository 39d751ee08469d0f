import {
  Failure,
  Skipped,
  at,
  expectAbsent,
  expectEqual,
  expectThat,
  filledListAt,
  fractionAt,
  isRecord,
  textAt,
} from '../../expect.ts'
import { uniqueText, verifyJwt, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { isTestNetwork, newWallet, signPayment, walletOf, type PaymentEntry } from '../../wallet.ts'
import { pollUntil, oncePerRun, type RunContext } from '../../run-context.ts'

const buy = 'GET /api/agent/tasks/{workflowId}/buy'
const buyWithKey = 'POST /api/agent/tasks/{workflowId}/buy'
const jwks = 'GET /.well-known/jwks.json'

const pathOf = (workflowId: string): string => `/api/agent/tasks/${encodeURIComponent(workflowId)}/buy`

type PaymentChallenge = { readonly path: string; readonly answer: HttpResponse; readonly purchaseId: string }

const requestChallenge = async (
  world: RunContext,
  workflowId: string,
): Promise<PaymentChallenge | undefined> => {
  const path = pathOf(workflowId)
  const answer = await world.http.get(path)
  return answer.status === 402
    ? { path, answer, purchaseId: String(at(answer.body, 'purchase_id')) }
    : undefined
}

/** Something that is on sale: the sandbox's own task, which a main network does not sell, or else a listed one. */
const sharedChallenge = oncePerRun(async (world): Promise<PaymentChallenge> => {
  const sandbox = await requestChallenge(world, 'wf_test_ok')
  if (sandbox) return sandbox
  const listed = at((await world.http.get('/api/workflows/available')).body, 'workflows')
  for (const task of (Array.isArray(listed) ? listed : []).slice(0, 10)) {
    const found = await requestChallenge(world, String(at(task, 'id')))
    if (found) return found
  }
  if (world.isLoopback) throw new Failure('a task on sale on a loopback deployment', 'none answered 402')
  throw new Skipped('nothing is on sale at this deployment now')
})

const isAddress = (value: unknown): value is `0x${string}` =>
  typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value)

const entryOf = async (world: RunContext): Promise<PaymentEntry> => {
  const entry = filledListAt((await sharedChallenge(world)).answer.body, 'accepts')[0]
  const [payTo, asset] = [at(entry, 'payTo'), at(entry, 'asset')]
  expectThat(isAddress(payTo) && isAddress(asset), 'payTo and asset as addresses', entry)
  return {
    network: textAt(entry, 'network'),
    payTo,
    asset,
    amount: textAt(entry, 'maxAmountRequired'),
    seconds: Number(at(entry, 'maxTimeoutSeconds')),
    name: textAt(entry, 'extra.name'),
    version: textAt(entry, 'extra.version'),
  }
}

const pay = async (world: RunContext, payment: string): Promise<HttpResponse> => {
  const { path, purchaseId } = await sharedChallenge(world)
  return world.http.get(path, { headers: { 'x-payment': payment, 'x-purchase-id': purchaseId } })
}

/** A purchase that really settles, on a test network only. */
const sharedPurchase = oncePerRun(async (world) => {
  if (world.payerKey === undefined)
    throw new Skipped('needs PAYER_PRIVATE_KEY, a wallet with the stablecoin of a test network')
  const entry = await entryOf(world)
  if (!isTestNetwork(entry.network)) throw new Skipped(`${entry.network} is no test network`)
  const payment = await signPayment(walletOf(world.payerKey), entry)
  const settle = () => pay(world, payment)
  const first = await settle()
  const answer = first.status === 202 ? await pollUntil(world, settle, ({ status }) => status !== 202) : first
  return { payment, answer }
})

export const autonomousPurchase: Section = {
  name: 'GET /api/agent/tasks/{workflowId}/buy',
  statements: [
    {
      id: 'buy.challenge',
      title: 'asking without payment and without a key is answered with 402 and ways to pay',
      needs: [buy],
      run: async (world) => {
        const { answer } = await sharedChallenge(world)
        expectStatus(answer, 402)
        for (const entry of filledListAt(answer.body, 'accepts'))
          expectThat(isRecord(entry), 'a payment entry as an object', entry)
      },
    },
    {
      id: 'buy.purchase-id',
      title: 'the challenge carries a purchase id',
      needs: [buy],
      run: async (world) => {
        textAt((await sharedChallenge(world)).answer.body, 'purchase_id')
      },
    },
    {
      id: 'buy.purchase-id-header',
      title: 'the purchase id is also in the header that the payer sends back',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const { answer, purchaseId } = await sharedChallenge(world)
        expectEqual(answer.headers.get('x-purchase-id'), purchaseId, 'X-Purchase-Id')
      },
    },
    {
      id: 'buy.own-purchase-id',
      title: 'every challenge has a purchase id of its own',
      needs: [buy],
      run: async (world) => {
        const { path, purchaseId } = await sharedChallenge(world)
        const second = textAt((await world.http.get(path)).body, 'purchase_id')
        expectThat(second !== purchaseId, 'another purchase id', second)
      },
    },
    {
      id: 'buy.entry',
      title: 'a payment entry holds all that an EIP-3009 authorization needs',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const entry = await entryOf(world)
        expectThat(/^[1-9]\d*$/.test(entry.amount), 'an amount in the smallest unit', entry.amount)
        expectThat(entry.seconds > 0, 'a time to pay in', entry.seconds)
        expectEqual(at((await sharedChallenge(world)).answer.body, 'accepts.0.scheme'), 'exact', 'scheme')
      },
    },
    {
      id: 'buy.stablecoin-only',
      title: 'every way to pay is a token on an EVM chain: no other rail is collected on',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        for (const entry of filledListAt((await sharedChallenge(world)).answer.body, 'accepts')) {
          expectEqual(at(entry, 'scheme'), 'exact', 'scheme')
          expectThat(isAddress(at(entry, 'asset')), 'a token address', entry)
        }
      },
    },
    {
      id: 'buy.version-2',
      title: 'clients of x402 version 2 find the same challenge in the PAYMENT-REQUIRED header',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const header = (await sharedChallenge(world)).answer.headers.get('payment-required') ?? ''
        expectThat(header !== '', 'the header', header)
        const challenge: unknown = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
        expectEqual(at(challenge, 'x402Version'), 2, 'x402Version')
        filledListAt(challenge, 'accepts')
      },
    },
    {
      id: 'buy.not-cached',
      title: 'a challenge is not kept by caches',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const cache = (await sharedChallenge(world)).answer.headers.get('cache-control') ?? ''
        expectThat(/\bno-store\b/.test(cache), 'no-store', cache)
      },
    },
    {
      id: 'buy.out-of-stock',
      title: 'a task with nothing to deliver is out_of_stock',
      needs: [buy],
      run: async ({ http }) =>
        expectRefusal(await http.get(pathOf('wf_test_out_of_stock')), 409, 'out_of_stock'),
    },
    {
      id: 'buy.unknown-task',
      title: 'a task that does not exist is out_of_stock too, never 404',
      needs: [buy],
      isProjectDecision: true,
      run: async ({ http }) => expectRefusal(await http.get(pathOf(uniqueText('wf'))), 409, 'out_of_stock'),
    },
    {
      id: 'buy.with-a-key',
      title: 'the POST form with a key gives the same kind of challenge',
      needs: [buy, buyWithKey],
      isProjectDecision: true,
      run: async (world) => {
        const { path } = await sharedChallenge(world)
        const answer = await world.http.post(path, undefined, { key: (await testAgent(world)).apiKey })
        expectStatus(answer, 402)
        filledListAt(answer.body, 'accepts')
        textAt(answer.body, 'purchase_id')
      },
    },
    {
      id: 'buy.unreadable-payment',
      title: 'a payment header that cannot be read is refused',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => expectRefusal(await pay(world, 'not-a-payment'), 400, 'payment_malformed'),
    },
    {
      id: 'buy.forged-payment',
      title: 'an authorization that its payer did not sign settles nothing and delivers nothing',
      needs: [buy],
      run: async (world) => {
        const forged = await signPayment(newWallet(), await entryOf(world), newWallet().address)
        const answer = await pay(world, forged)
        expectThat(answer.status >= 400 && answer.status < 500, 'a refusal', answer.text)
        expectAbsent(answer.body, 'pohf_jwt')
      },
    },
    {
      id: 'buy.forged-payment-code',
      title: 'a forged authorization is refused with 402 payment_invalid',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const forged = await signPayment(newWallet(), await entryOf(world), newWallet().address)
        expectRefusal(await pay(world, forged), 402, 'payment_invalid')
      },
    },
    {
      id: 'buy.empty-wallet',
      title: 'a genuine authorization by a wallet without money delivers nothing',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await pay(world, await signPayment(newWallet(), await entryOf(world)))
        expectStatus(answer, 402, 503)
        expectAbsent(answer.body, 'pohf_jwt')
      },
    },
    {
      id: 'buy.settles',
      title: 'a good authorization with the purchase id delivers a credential that verifies',
      needs: [buy, jwks],
      run: async (world) => {
        const { answer } = await sharedPurchase(world)
        expectStatus(answer, 200)
        const { protectedHeader } = await verifyJwt(world, textAt(answer.body, 'pohf_jwt'))
        expectEqual(protectedHeader.alg, 'ES256', 'alg')
        fractionAt(answer.body, 'quality')
      },
    },
    {
      id: 'buy.delivered-once',
      title: 'the same authorization again delivers the same credential, and charges nothing more',
      needs: [buy],
      isProjectDecision: true,
      run: async (world) => {
        const { answer, payment } = await sharedPurchase(world)
        const again = await pay(world, payment)
        expectEqual(textAt(again.body, 'credentialId'), textAt(answer.body, 'credentialId'), 'credentialId')
      },
    },
    {
      id: 'buy.purchase-id-in-query',
      title: 'the purchase id may also come as purchase_id in the address',
      needs: [buy],
      run: async (world) => {
        const { answer, payment } = await sharedPurchase(world)
        const { path, purchaseId } = await sharedChallenge(world)
        const again = await world.http.get(path, {
          headers: { 'x-payment': payment },
          query: { purchase_id: purchaseId },
        })
        expectStatus(again, 200)
        expectEqual(textAt(again.body, 'credentialId'), textAt(answer.body, 'credentialId'), 'credentialId')
      },
    },
  ],
}
