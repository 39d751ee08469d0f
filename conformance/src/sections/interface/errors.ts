import {
  at,
  expectAbsent,
  expectEqual,
  expectThat,
  filledListAt,
  textAt,
  webAddressAt,
} from '../../expect.ts'
import { uniqueText, liveAgent, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus } from '../../http.ts'
import type { Section } from '../../statement.ts'

const bind = 'POST /api/agents/bind-transaction'
const order = 'POST /api/agents/order'
const verify = 'POST /api/agents/verify'
const buy = 'GET /api/agent/tasks/{workflowId}/buy'
const series = 'GET /api/index/{code}'

export const errorTable: Section = {
  name: 'Errors',
  statements: [
    {
      id: 'errors.400-bind',
      title: 'a binding that names neither payment nor human is 400 in the error form',
      needs: [bind],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        expectRefusal(await world.http.post('/api/agents/bind-transaction', {}, { key: apiKey }), 400)
      },
    },
    {
      id: 'errors.401-order',
      title: 'an order without authentication is 401 in the error form',
      needs: [order],
      run: async ({ http }) =>
        expectRefusal(await http.post('/api/agents/order', { taskType: 'anything', quantity: 1 }), 401),
    },
    {
      id: 'errors.401-order-code',
      title: 'an order without authentication says auth_required',
      needs: [order],
      isProjectDecision: true,
      run: async ({ http }) =>
        expectRefusal(
          await http.post('/api/agents/order', { taskType: 'anything', quantity: 1 }),
          401,
          'auth_required',
        ),
    },
    {
      id: 'errors.401-bind',
      title: 'a binding without authentication is 401 in the error form',
      needs: [bind],
      run: async ({ http }) => {
        const body = { paymentRef: uniqueText('payment'), memberId: uniqueText('member') }
        expectRefusal(await http.post('/api/agents/bind-transaction', body), 401)
      },
    },
    {
      id: 'errors.402-verify',
      title: 'verifying without credits is 402 in the error form, with the link to buy some',
      needs: [verify],
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const body = { sessionId: uniqueText('session') }
        const answer = await world.http.post('/api/agents/verify', body, { key: apiKey })
        expectRefusal(answer, 402)
        webAddressAt(answer.body, 'buy')
      },
    },
    {
      id: 'errors.402-buy',
      title: 'the 402 of a purchase is a challenge to pay, not a call to buy credits',
      needs: [buy],
      run: async ({ http }) => {
        const answer = await http.get('/api/agent/tasks/wf_test_ok/buy')
        if (answer.status === 409) return expectEqual(at(answer.body, 'error'), 'out_of_stock', 'error')
        expectStatus(answer, 402)
        filledListAt(answer.body, 'accepts')
        expectAbsent(answer.body, 'buy')
      },
    },
    {
      id: 'errors.403-index',
      title: 'the licensed index without a key is 403 in the error form',
      needs: [series],
      run: async ({ http }) => {
        const answer = await http.get('/api/index/VHH_labeling')
        expectRefusal(answer, 403)
        expectAbsent(answer.body, 'series')
      },
    },
    {
      id: 'errors.409-buy',
      title: 'nothing to deliver is 409 with the error out_of_stock',
      needs: [buy],
      run: async ({ http }) => {
        const answer = await http.get('/api/agent/tasks/wf_test_out_of_stock/buy')
        expectRefusal(answer, 409)
        expectEqual(textAt(answer.body, 'error'), 'out_of_stock', 'error')
      },
    },
    {
      id: 'errors.codes-are-words',
      title: 'an error is a word for programs, not a sentence',
      needs: ['POST /api/agents/register'],
      isProjectDecision: true,
      run: async ({ http }) => {
        const error = textAt((await http.post('/api/agents/register', {})).body, 'error')
        expectThat(/^[a-z][a-z0-9_]*$/.test(error), 'snake_case', error)
      },
    },
  ],
}
