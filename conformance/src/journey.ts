// The journey of a client written from the specification alone. It knows no endpoint and no field beyond it,
// invents every id, and looks only at what the specification shows.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import {
  at,
  booleanAt,
  countAt,
  expectEqual,
  expectThat,
  filledListAt,
  fractionAt,
  listAt,
  numberAt,
  recordAt,
  textAt,
  webAddressAt,
} from './expect.ts'
import { uniqueText } from './fixtures.ts'
import { expectObject, expectRefusal, expectStatus, type HttpResponse } from './http.ts'
import type { Section, Statement } from './statement.ts'
import {
  boundWallet,
  buyPath,
  firstWorkflowId,
  mailbox,
  orderId,
  placedOrder,
  registered,
  step,
  subscribed,
  availableWorkflows,
  type Client,
} from './journey-client.ts'
import type { RunContext } from './run-context.ts'

const expectCredential = async (
  world: RunContext,
  answer: HttpResponse,
): Promise<Record<string, unknown>> => {
  expectStatus(answer, 200)
  const keys = createRemoteJWKSet(new URL(`${world.baseUrl}/.well-known/jwks.json`))
  const { payload } = await jwtVerify(textAt(answer.body, 'pohf_jwt'), keys)
  booleanAt(answer.body, 'verified')
  fractionAt(answer.body, 'quality')
  textAt(answer.body, 'credentialId')
  expectEqual(payload['test'], true, 'test')
  return payload
}

const jwks = 'GET /.well-known/jwks.json'
const register = 'POST /api/agents/register'
const verify = 'POST /api/agents/verify'
const personhood = 'POST /api/agents/verify-personhood'
const walletChallenge = 'POST /api/agents/wallet/challenge'
const kinetic = 'POST /api/kinetic/submit'
const attestChallenge = 'POST /api/agents/attest/challenge'
const attest = 'POST /api/agents/attest/verify'
const metrics = 'GET /api/agents/metrics'
const webhooks = 'POST /api/agents/webhooks'
const convert = 'POST /api/partner/points/convert'
const payout = 'POST /api/partner/payout/request'
const available = 'GET /api/workflows/available'
const order = 'POST /api/agents/order'
const fund = 'POST /api/agents/order/fund'
const buy = 'GET /api/agent/tasks/{workflowId}/buy'
const bind = 'POST /api/agents/bind-transaction'
const creditsBuy = 'POST /api/agents/credits/buy'
const balance = 'GET /api/agents/credits/balance'
const mcp = 'POST /mcp'

const arrival: readonly Statement[] = [
  step('discovery', 'reads the manifest', ['GET /api/agents/discovery'], async ({ anonymous }) =>
    expectObject(await anonymous.get('/api/agents/discovery')),
  ),
  step('jwks', 'fetches the public keys', [jwks], async ({ anonymous }) => {
    filledListAt((await anonymous.get('/.well-known/jwks.json')).body, 'keys')
  }),
  step('workflows', 'looks at the work on offer', [available], async ({ world }) => {
    const { body } = await availableWorkflows(world)
    expectEqual(countAt(body, 'count'), listAt(body, 'workflows').length, 'count')
  }),
  step('register-test', 'registers for a test key', [register], async ({ world }) => {
    const { body } = await registered.test(world)
    textAt(body, 'apiKey')
    textAt(body, 'agentId')
    expectEqual(at(body, 'mode'), 'test', 'mode')
  }),
  step('register-live', 'registers for a live key by leaving the mode out', [register], async ({ world }) => {
    const { body } = await registered.live(world)
    textAt(body, 'apiKey')
    expectEqual(at(body, 'mode'), 'live', 'mode')
  }),
]

const proving: readonly Statement[] = [
  step('credits-buy', 'buys a pack with the test key', [creditsBuy], async ({ test }) => {
    const answer = await test.post('/api/agents/credits/buy', { pack: 'starter' })
    expectStatus(answer, 200)
    webAddressAt(answer.body, 'checkoutUrl')
  }),
  step('balance', 'reads its balance', [balance], async ({ test }) => {
    const { body } = await test.get('/api/agents/credits/balance')
    for (const name of ['balance', 'lifetimePurchased', 'lifetimeConsumed']) countAt(body, name)
    listAt(body, 'packs')
  }),
  step('verify', 'verifies a session with an invented id', [verify, jwks], async ({ world, test }) => {
    await expectCredential(world, await test.post('/api/agents/verify', { sessionId: uniqueText('visit') }))
  }),
  step('personhood', 'verifies an invented member', [personhood, jwks], async ({ world, test }) => {
    const request = { memberId: uniqueText('user') }
    await expectCredential(world, await test.post('/api/agents/verify-personhood', request))
  }),
  step('webhook', 'subscribes to the one event it knows', [webhooks], async ({ world }) => {
    const answer = await subscribed(world)
    expectStatus(answer, 200)
    textAt(answer.body, 'id')
    textAt(answer.body, 'signingSecret')
  }),
  step(
    'wallet',
    'asks for a challenge, signs it and binds its wallet',
    [walletChallenge, personhood, jwks],
    async ({ world }) => {
      const { wallet, answer } = await boundWallet(world)
      const claims = await expectCredential(world, answer)
      expectEqual(String(claims['wallet']).toLowerCase(), wallet.toLowerCase(), 'wallet')
    },
  ),
  {
    ...step(
      'event',
      'is told of the bound wallet, with a signature',
      [webhooks, walletChallenge, personhood],
      async ({ world }) => {
        expectStatus(await subscribed(world), 200)
        expectStatus((await boundWallet(world)).answer, 200)
        const delivery = await (await mailbox(world)).waitFor('personhood.wallet_bound')
        textAt(delivery.headers, 'x-service-signature')
      },
    ),
    loopback: true,
  },
  step('kinetic-receipt', 'submits a receipt with the required fields only', [kinetic], async ({ test }) =>
    expectObject(await test.post('/api/kinetic/submit', { memberId: uniqueText('user'), source: 'receipt' })),
  ),
  step('kinetic-photo', 'submits a photo with its place', [kinetic], async ({ test }) => {
    const place = { lat: 48.2, lng: 16.37, photoHash: uniqueText('sha256') }
    const request = { memberId: uniqueText('user'), source: 'geo_photo', ...place }
    expectObject(await test.post('/api/kinetic/submit', request))
  }),
  step('attest', 'attests a device with the fields shown', [attestChallenge, attest], async ({ test }) => {
    const challenge = await test.post('/api/agents/attest/challenge')
    textAt(challenge.body, 'challengeB64url')
    const nonce = textAt(challenge.body, 'nonce')
    const request = { method: 'webauthn', nonce, subjectRef: uniqueText('user') }
    const answer = await test.post('/api/agents/attest/verify', request)
    expectStatus(answer, 200)
    booleanAt(answer.body, 'attested')
    textAt(answer.body, 'assurance')
  }),
]

const measuring: readonly Statement[] = [
  step('track', 'sends a beacon', ['POST /api/track/event'], async ({ anonymous }) =>
    expectStatus(await anonymous.post('/api/track/event', { vt: uniqueText('vt') }), 200),
  ),
  step(
    'conversion',
    'reports a conversion of an invented view',
    ['POST /api/agents/track/conversion'],
    async ({ test }) => {
      const request = { vt: uniqueText('vt'), name: 'purchase', value: 19.9, currency: 'EUR' }
      booleanAt((await test.post('/api/agents/track/conversion', request)).body, 'attributed')
    },
  ),
  step('metrics', 'reads its metrics', [metrics], async ({ test }) =>
    expectObject(await test.get('/api/agents/metrics')),
  ),
  step('metrics-csv', 'reads them as CSV, since a day and with a limit', [metrics], async ({ test }) => {
    const since = new Date(Date.now() - 86_400_000).toISOString()
    const answer = await test.get('/api/agents/metrics', { format: 'csv', since, limit: '10' })
    expectStatus(answer, 200)
    expectThat(answer.body === undefined && answer.text.includes(','), 'CSV', answer.text)
  }),
  step('funnel', 'reads its funnel', ['GET /api/agents/metrics/funnel'], async ({ test }) =>
    expectObject(await test.get('/api/agents/metrics/funnel')),
  ),
  step('task', 'gets a micro-task for its site', ['GET /api/tasks/next'], async ({ world, anonymous }) => {
    const site = textAt((await registered.test(world)).body, 'agentId')
    const answer = await anonymous.get('/api/tasks/next', { site })
    expectStatus(answer, 200)
    recordAt(answer.body, 'task')
  }),
  step(
    'task-complete',
    'completes a task without knowing its fields',
    ['POST /api/tasks/complete'],
    async ({ anonymous }) => expectObject(await anonymous.post('/api/tasks/complete', {})),
  ),
  step('points', 'converts points, twice the same', [convert], async ({ test }) => {
    const request = { userRef: uniqueText('user'), points: 120 }
    const first = await test.post('/api/partner/points/convert', request)
    const second = await test.post('/api/partner/points/convert', request)
    expectEqual(numberAt(second.body, 'balance'), numberAt(first.body, 'balance'), 'balance')
  }),
  step('payout', 'asks for a payout', [payout], async ({ test }) => {
    const { body } = await test.post('/api/partner/payout/request', {
      userRef: uniqueText('user'),
      stars: 50,
    })
    textAt(body, 'requestId')
    textAt(body, 'status')
  }),
]

const buying: readonly Statement[] = [
  step('order', 'commissions work of a type that it made up', [order], async ({ world }) =>
    expectObject(await placedOrder(world)),
  ),
  step('order-fund', 'asks for the checkout of its order', [order, fund], async ({ world, test }) =>
    expectObject(await test.post('/api/agents/order/fund', { orderId: await orderId(world) })),
  ),
  step('order-listed', 'commissions a listed task', [order, available], async ({ world, test }) => {
    const request = { taskType: await firstWorkflowId(world), quantity: 1 }
    expectObject(await test.post('/api/agents/order', request))
  }),
  step('order-keyless', 'is refused an order without a key', [order], async ({ anonymous }) =>
    expectRefusal(await anonymous.post('/api/agents/order', { taskType: 'anything', quantity: 1 }), 401),
  ),
  step('buy', 'tries to buy a listed task without a key', [buy, available], async ({ world, anonymous }) => {
    const answer = await anonymous.get(buyPath(await firstWorkflowId(world)))
    expectStatus(answer, 402, 409)
    if (answer.status === 402) filledListAt(answer.body, 'accepts')
    else expectEqual(at(answer.body, 'error'), 'out_of_stock', 'error')
  }),
  step('buy-unknown', 'tries to buy a task that does not exist', [buy], async ({ anonymous }) =>
    expectRefusal(await anonymous.get(buyPath(uniqueText('task'))), 409, 'out_of_stock'),
  ),
  step(
    'buy-with-key',
    'tries the form with a key',
    ['POST /api/agent/tasks/{workflowId}/buy', available],
    async ({ world, test }) => expectStatus(await test.post(buyPath(await firstWorkflowId(world))), 402, 409),
  ),
  step('bind', 'binds an invented payment to an invented human', [bind, jwks], async ({ world, test }) => {
    const request = { paymentRef: uniqueText('payment'), sessionId: uniqueText('visit') }
    await expectCredential(world, await test.post('/api/agents/bind-transaction', request))
  }),
  step('bind-all', 'binds with every field at once', [bind, jwks], async ({ world, test }) => {
    const human = {
      sessionId: uniqueText('visit'),
      memberId: uniqueText('user'),
      workRef: uniqueText('work'),
    }
    const request = { paymentRef: uniqueText('payment'), ...human, test: true }
    await expectCredential(world, await test.post('/api/agents/bind-transaction', request))
  }),
  step('bind-nothing', 'is refused a binding of nothing', [bind], async ({ test }) =>
    expectRefusal(await test.post('/api/agents/bind-transaction', {}), 400),
  ),
  step('bind-rehearsal', 'rehearses a binding with the live key', [bind, jwks], async ({ world, live }) => {
    const request = { memberId: uniqueText('user'), test: true }
    await expectCredential(world, await live.post('/api/agents/bind-transaction', request))
  }),
]

const pricing: readonly Statement[] = [
  step('index', 'reads the catalogue of rates', ['GET /api/index'], async ({ anonymous }) =>
    expectObject(await anonymous.get('/api/index')),
  ),
  step('index-free', 'reads the composite without a key', ['GET /api/index/vhh'], async ({ anonymous }) =>
    expectObject(await anonymous.get('/api/index/vhh')),
  ),
  step(
    'index-refused',
    'is refused the history without a key',
    ['GET /api/index/vhh'],
    async ({ anonymous }) => expectRefusal(await anonymous.get('/api/index/vhh', { history: '1' }), 403),
  ),
  step('index-history', 'reads the history with its key', ['GET /api/index/vhh'], async ({ test }) =>
    expectObject(await test.get('/api/index/vhh', { history: '1' })),
  ),
  step('index-series', 'reads a category with its key', ['GET /api/index/{code}'], async ({ test }) =>
    expectObject(await test.get('/api/index/VHH_translation')),
  ),
  step('index-series-refused', 'is refused it without', ['GET /api/index/{code}'], async ({ anonymous }) =>
    expectRefusal(await anonymous.get('/api/index/VHH_translation'), 403),
  ),
  step('forwards', 'asks for capacity', ['POST /api/forwards/order'], async ({ anonymous }) => {
    const who = { name: 'Traveller', company: 'Travels', email: 'traveller@example.com' }
    const month = `${new Date().getUTCFullYear() + 1}-01`
    expectObject(await anonymous.post('/api/forwards/order', { ...who, hours: 100, month }))
  }),
]

const expectToolResult = async (caller: Client, name: string, input: object): Promise<void> => {
  const params = { name, arguments: input }
  const answer = await caller.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  expectStatus(answer, 200)
  const result = recordAt(answer.body, 'result')
  expectThat(result['isError'] !== true, 'a result', answer.text)
}

const machines: readonly Statement[] = [
  step('mcp', 'lists the machine tools at both addresses', [mcp, 'POST /api/mcp'], async ({ anonymous }) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    filledListAt((await anonymous.post('/mcp', call)).body, 'result.tools')
    filledListAt((await anonymous.post('/api/mcp', call)).body, 'result.tools')
  }),
  step('mcp-list', 'lists the work by tool', [mcp, available], async ({ anonymous }) =>
    expectToolResult(anonymous, 'list_verified_work', {}),
  ),
  step('mcp-commission', 'commissions work by tool', [mcp, order], async ({ test }) => {
    const input = { taskType: 'describe a picture', quantity: 1, maxPriceUsd: 5 }
    await expectToolResult(test, 'commission_work', input)
  }),
  step('mcp-fund', 'funds its order by tool', [mcp, order, fund], async ({ world, test }) =>
    expectToolResult(test, 'fund_order', { orderId: await orderId(world) }),
  ),
  step('mcp-verify', 'gets the public keys by tool', [mcp, jwks], async ({ anonymous }) =>
    expectToolResult(anonymous, 'verify_credential', {}),
  ),
]

const goingLive: readonly Statement[] = [
  step('live-balance', 'finds its live balance empty', [balance], async ({ live }) => {
    const { body } = await live.get('/api/agents/credits/balance')
    expectEqual(countAt(body, 'balance'), 0, 'balance')
  }),
  step('live-verify', 'is told where to buy credits when it verifies live', [verify], async ({ live }) => {
    const answer = await live.post('/api/agents/verify', { sessionId: uniqueText('visit') })
    expectRefusal(answer, 402)
    webAddressAt(answer.body, 'buy')
  }),
  step('live-credits', 'opens a live checkout', [creditsBuy], async ({ live }) => {
    webAddressAt((await live.post('/api/agents/credits/buy', { pack: 'growth' })).body, 'checkoutUrl')
  }),
  step('live-order', 'commissions and funds live work', [order, fund], async ({ live }) => {
    const made = await live.post('/api/agents/order', { taskType: 'read a text aloud', quantity: 1 })
    expectObject(made)
    const request = { orderId: textAt(made.body, 'orderId') }
    expectObject(await live.post('/api/agents/order/fund', request))
  }),
]

export const journey: Section = {
  name: 'The journey of a client written from the specification alone',
  statements: [...arrival, ...proving, ...measuring, ...buying, ...pricing, ...machines, ...goingLive],
}
