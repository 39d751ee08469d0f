import {
  at,
  booleanAt,
  countAt,
  expectEqual,
  expectThat,
  filledListAt,
  listAt,
  numberAt,
  textAt,
  webAddressAt,
} from '../../expect.ts'
import { uniqueText, offeredWorkflows, liveAgent, otherAgent, testAgent, type Agent } from '../../fixtures.ts'
import { expectObject, expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import { refusesInput, notObservable, type Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const available = 'GET /api/workflows/available'
const order = 'POST /api/agents/order'
const fund = 'POST /api/agents/order/fund'
const buy = 'GET /api/agent/tasks/{workflowId}/buy'

const list = oncePerRun((world) => world.http.get('/api/workflows/available'))

export const availableWork: Section = {
  name: 'GET /api/workflows/available',
  statements: [
    {
      id: 'workflows.list',
      title: 'the work on offer is a list',
      needs: [available],
      run: async (world) => {
        const answer = await list(world)
        expectStatus(answer, 200)
        listAt(answer.body, 'workflows')
      },
    },
    {
      id: 'workflows.count',
      title: 'count says how many are listed',
      needs: [available],
      run: async (world) => {
        const { body } = await list(world)
        expectEqual(countAt(body, 'count'), listAt(body, 'workflows').length, 'count')
      },
    },
    {
      id: 'workflows.fields',
      title: 'every task tells its id, title, description, minutes, Stars, webcam bonus and dataset option',
      needs: [available],
      run: async (world) => {
        for (const task of await offeredWorkflows(world)) {
          for (const name of ['id', 'title', 'description']) textAt(task, name)
          for (const name of ['estMinutes', 'rewardStars', 'webcamBonus']) numberAt(task, name)
          booleanAt(task, 'datasetOptin')
        }
      },
    },
    {
      id: 'workflows.steps',
      title: 'every task lists its instructions in order, as text',
      needs: [available],
      run: async (world) => {
        for (const task of await offeredWorkflows(world))
          for (const step of filledListAt(task, 'steps'))
            expectThat(typeof step === 'string', 'a step as text', step)
      },
    },
    {
      id: 'workflows.ids-differ',
      title: 'no two tasks share an id',
      needs: [available],
      run: async (world) => {
        const ids = (await offeredWorkflows(world)).map((task) => textAt(task, 'id'))
        expectEqual(new Set(ids).size, ids.length, 'different ids:')
      },
    },
    {
      id: 'workflows.how-to-buy-alone',
      title: 'the list tells an autonomous agent how to buy: method, url, auth, flow and verify',
      needs: [available],
      run: async (world) => {
        const { body } = await list(world)
        for (const name of ['method', 'url', 'auth', 'flow', 'verify'])
          textAt(body, `how_to_buy.autonomous.${name}`)
      },
    },
    {
      id: 'workflows.how-to-buy-with-a-human',
      title: 'the list tells how to buy with a person at the card checkout: method, url and note',
      needs: [available],
      run: async (world) => {
        const { body } = await list(world)
        for (const name of ['method', 'url', 'note']) textAt(body, `how_to_buy.with_a_human.${name}`)
      },
    },
    {
      id: 'workflows.with-a-key',
      title: 'a key is accepted on the list',
      needs: [available],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        listAt((await world.http.get('/api/workflows/available', { key: apiKey })).body, 'workflows')
      },
    },
    {
      id: 'workflows.ids-lead-to-buy',
      title: 'every listed id can be asked for at the buy endpoint: on sale, or out of stock',
      needs: [available, buy],
      run: async (world) => {
        for (const task of (await offeredWorkflows(world)).slice(0, 10)) {
          const id = encodeURIComponent(textAt(task, 'id'))
          expectStatus(await world.http.get(`/api/agent/tasks/${id}/buy`), 402, 409)
        }
      },
    },
  ],
}

const placeOrder = (
  world: RunContext,
  agent: Agent,
  body: Readonly<Record<string, unknown>>,
): Promise<HttpResponse> => world.http.post('/api/agents/order', body, { key: agent.apiKey })

const sharedOrder = oncePerRun(async (world) =>
  placeOrder(world, await testAgent(world), { taskType: uniqueText('task'), quantity: 2 }),
)

export const orders: Section = {
  name: 'POST /api/agents/order',
  statements: [
    {
      id: 'order.created',
      title: 'human work is commissioned by task type and quantity',
      needs: [order],
      run: async (world) => expectObject(await sharedOrder(world)),
    },
    {
      id: 'order.of-a-listed-task',
      title: 'a listed task can be commissioned by its id',
      needs: [order, available],
      run: async (world) => {
        const taskType = textAt((await offeredWorkflows(world))[0], 'id')
        expectObject(await placeOrder(world, await testAgent(world), { taskType, quantity: 1 }))
      },
    },
    {
      id: 'order.fields',
      title: 'the order tells its id, status, quantity, price and escrow',
      needs: [order],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await sharedOrder(world)
        textAt(body, 'orderId')
        expectEqual(textAt(body, 'status'), 'created', 'status')
        expectEqual(at(body, 'quantity'), 2, 'quantity')
        numberAt(body, 'totalUsd')
        textAt(body, 'escrow.status')
      },
    },
    {
      id: 'order.price-cap',
      title: 'an order with a cap never costs more than the cap',
      needs: [order],
      isProjectDecision: true,
      run: async (world) => {
        const body = { taskType: uniqueText('task'), quantity: 3, maxPriceUsd: 1 }
        const answer = await placeOrder(world, await testAgent(world), body)
        expectStatus(answer, 200)
        const total = numberAt(answer.body, 'totalUsd')
        expectThat(total <= 1, 'at most 1 USD', total)
      },
    },
    {
      id: 'order.live',
      title: 'a live key commissions too, without paying first',
      needs: [order],
      run: async (world) =>
        expectObject(
          await placeOrder(world, await liveAgent(world), { taskType: uniqueText('task'), quantity: 1 }),
        ),
    },
    refusesInput('order.task-type-required', 'an order without a task type is refused', order, {
      field: 'taskType',
      body: { quantity: 1 },
    }),
    refusesInput('order.quantity-required', 'an order without a quantity is refused', order, {
      field: 'quantity',
      body: { taskType: 'anything' },
    }),
    refusesInput('order.quantity-is-a-number', 'text does not pass for a quantity', order, {
      field: 'quantity',
      body: { taskType: 'anything', quantity: '1' },
    }),
    refusesInput('order.max-price-is-a-number', 'text does not pass for a price', order, {
      field: 'maxPriceUsd',
      body: { taskType: 'anything', quantity: 1, maxPriceUsd: '1' },
    }),
    {
      id: 'order.unknown-agent-credential',
      title: 'an agent credential that nobody here trusts opens nothing',
      needs: [order],
      isProjectDecision: true,
      run: async ({ http }) => {
        const seconds = Math.floor(Date.now() / 1_000)
        const signature = Buffer.alloc(64, 1).toString('base64')
        const headers = {
          'signature-agent': 'sig1="https://agent.example"',
          'signature-input': `sig1=("@method" "@authority" "@path" "signature-agent";key="sig1");created=${seconds};expires=${seconds + 60};keyid="conformance";alg="ed25519";nonce="${uniqueText('n')}";tag="web-bot-auth"`,
          signature: `sig1=:${signature}:`,
        }
        const body = { taskType: 'anything', quantity: 1 }
        expectRefusal(await http.post('/api/agents/order', body, { headers }), 401)
      },
    },
    {
      id: 'order.accepts',
      title: 'the 401 of an order lists what the deployment takes, and a bearer is always among it',
      needs: [order],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.post('/api/agents/order', { taskType: 'anything', quantity: 1 })
        expectRefusal(answer, 401)
        expectEqual(textAt(answer.body, 'error'), 'auth_required', 'error')
        expectThat(
          filledListAt(answer.body, 'accepts').includes('bearer'),
          'accepts to have bearer',
          answer.text,
        )
      },
    },
    {
      id: 'order.bearer-decides',
      title: 'a wrong key is refused, whatever other credential is beside it',
      needs: [order],
      isProjectDecision: true,
      run: async ({ http }) => {
        const body = {
          taskType: 'anything',
          quantity: 1,
          ap2: { checkout_mandate: 'x', payment_mandate: 'y' },
        }
        const answer = await http.post('/api/agents/order', body, { key: 'svc_test_nonsense' })
        expectRefusal(answer, 401)
        expectEqual(textAt(answer.body, 'error'), 'malformed_api_key', 'error')
      },
    },
    notObservable(
      'order.agent-credential',
      'a trusted-agent credential or a Verifiable Intent commissions work without an API key',
      [order],
      'needs an agent whose key the operator of the deployment trusts',
    ),
  ],
}

const fundWith = (
  world: RunContext,
  agent: Agent,
  body: Readonly<Record<string, unknown>>,
): Promise<HttpResponse> => world.http.post('/api/agents/order/fund', body, { key: agent.apiKey })

export const orderFunding: Section = {
  name: 'POST /api/agents/order/fund',
  statements: [
    {
      id: 'fund.checkout',
      title: 'funding an order answers the address of a hosted checkout',
      needs: [order, fund],
      isProjectDecision: true,
      run: async (world) => {
        const orderId = textAt((await sharedOrder(world)).body, 'orderId')
        const answer = await fundWith(world, await testAgent(world), { orderId })
        expectStatus(answer, 200)
        webAddressAt(answer.body, 'checkoutUrl')
      },
    },
    {
      id: 'fund.amount',
      title: 'the checkout is for the price of the order',
      needs: [order, fund],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await sharedOrder(world)
        const answer = await fundWith(world, await testAgent(world), { orderId: textAt(body, 'orderId') })
        expectEqual(at(answer.body, 'orderId'), textAt(body, 'orderId'), 'orderId')
        expectEqual(numberAt(answer.body, 'amountUsd'), numberAt(body, 'totalUsd'), 'amountUsd')
      },
    },
    {
      id: 'fund.live',
      title: 'a live order is funded the same way',
      needs: [order, fund],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await liveAgent(world)
        const made = await placeOrder(world, agent, { taskType: uniqueText('task'), quantity: 1 })
        const answer = await fundWith(world, agent, { orderId: textAt(made.body, 'orderId') })
        expectStatus(answer, 200)
        webAddressAt(answer.body, 'checkoutUrl')
      },
    },
    refusesInput('fund.order-required', 'funding without an order is refused', fund, {
      field: 'orderId',
      body: {},
    }),
    {
      id: 'fund.unknown-order',
      title: 'an order that does not exist cannot be funded',
      needs: [fund],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(
          await fundWith(world, await testAgent(world), { orderId: uniqueText('ord') }),
          404,
          'not_found',
        ),
    },
    {
      id: 'fund.foreign-order',
      title: "another agent's order cannot be funded, as if it did not exist",
      needs: [order, fund],
      isProjectDecision: true,
      run: async (world) => {
        const orderId = textAt((await sharedOrder(world)).body, 'orderId')
        expectRefusal(await fundWith(world, await otherAgent(world), { orderId }), 404, 'not_found')
      },
    },
    notObservable(
      'fund.escrow',
      'once a person completes the checkout, the money rests in escrow until the work is delivered',
      [order, fund],
      'needs a person at the checkout',
    ),
  ],
}
