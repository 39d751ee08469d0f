import type { EndpointRef } from '../../api.ts'
import { expectThat } from '../../expect.ts'
import { testAgent, type Agent } from '../../fixtures.ts'
import { expectObject, expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { Section, Statement } from '../../statement.ts'
import type { RunContext } from '../../run-context.ts'

const balance = 'GET /api/agents/credits/balance'
const balancePath = '/api/agents/credits/balance'

const protectedEndpoints: readonly EndpointRef[] = [
  'POST /api/agents/credits/buy',
  'GET /api/agents/credits/balance',
  'POST /api/agents/verify',
  'POST /api/agents/verify-personhood',
  'POST /api/agents/wallet/challenge',
  'POST /api/kinetic/submit',
  'POST /api/agents/attest/challenge',
  'POST /api/agents/attest/verify',
  'POST /api/agents/track/conversion',
  'GET /api/agents/metrics',
  'GET /api/agents/metrics/funnel',
  'POST /api/agents/webhooks',
  'POST /api/partner/points/convert',
  'POST /api/partner/payout/request',
  'POST /api/agents/order',
  'POST /api/agents/order/fund',
  'POST /api/agents/bind-transaction',
]

const publicReads: readonly EndpointRef[] = [
  'GET /api/tasks/next',
  'GET /.well-known/jwks.json',
  'GET /api/index',
  'GET /api/index/vhh',
]

/** The list of the specification does not have these two, but it offers them as the steps that come before a key. */
const discoveryReads: readonly EndpointRef[] = ['GET /api/workflows/available', 'GET /api/agents/discovery']

const call = (
  world: RunContext,
  need: EndpointRef,
  headers: Readonly<Record<string, string>>,
): Promise<HttpResponse> => {
  const [method = 'GET', path = '/'] = need.split(' ')
  return method === 'GET' ? world.http.get(path, { headers }) : world.http.post(path, {}, { headers })
}

const nameOf = (need: EndpointRef): string => need.replace(/^\w+ \/(api\/)?/, '').replaceAll('/', '-')

const needsKey = (need: EndpointRef): Statement => ({
  id: `auth.key-needed-${nameOf(need)}`,
  title: `${need} without a key is answered with 401`,
  needs: [need],
  run: async (world) => expectRefusal(await call(world, need, {}), 401),
})

const refusesWrongKey = (need: EndpointRef): Statement => ({
  id: `auth.key-checked-${nameOf(need)}`,
  title: `${need} with a key that was never given out is answered with 401`,
  needs: [need],
  run: async (world) => {
    const authorization = `Bearer ${unissuedKey(await testAgent(world))}`
    expectRefusal(await call(world, need, { authorization }), 401)
  },
})

const isPublic = (need: EndpointRef): Statement => ({
  id: `auth.open-${nameOf(need)}`,
  title: `${need} needs no key`,
  needs: [need],
  run: async (world) => expectObject(await call(world, need, {})),
})

const isPublicByDecision = (need: EndpointRef): Statement => ({ ...isPublic(need), isProjectDecision: true })

const refusesBadOptionalKey = (need: EndpointRef): Statement => ({
  id: `auth.bad-key-${nameOf(need)}`,
  title: `${need} needs no key, but a bad one is answered with 401`,
  needs: [need],
  isProjectDecision: true,
  run: async (world) =>
    expectRefusal(await call(world, need, { authorization: 'Bearer svc_test_wrong' }), 401),
})

/** The same form, another end. */
const unissuedKey = ({ apiKey }: Agent): string => apiKey.slice(0, -8) + '7'.repeat(8)

const withAuthorization = (world: RunContext, authorization: string): Promise<HttpResponse> =>
  world.http.get(balancePath, { headers: { authorization } })

export const authentication: Section = {
  name: 'Authentication',
  statements: [
    ...protectedEndpoints.map(needsKey),
    ...protectedEndpoints.map(refusesWrongKey),
    ...publicReads.map(isPublic),
    {
      id: 'auth.open-agents-register',
      title: 'POST /api/agents/register needs no key',
      needs: ['POST /api/agents/register'],
      run: async ({ http }) => expectRefusal(await http.post('/api/agents/register', {}), 400),
    },
    {
      id: 'auth.open-track-event',
      title: 'POST /api/track/event needs no key',
      needs: ['POST /api/track/event'],
      run: async ({ http }) => expectStatus(await http.post('/api/track/event', { vt: 'vt' }), 200),
    },
    {
      id: 'auth.open-tasks-complete',
      title: 'POST /api/tasks/complete needs no key',
      needs: ['POST /api/tasks/complete'],
      run: async ({ http }) => expectStatus(await http.post('/api/tasks/complete', {}), 200),
    },
    {
      id: 'auth.open-forwards-order',
      title: 'POST /api/forwards/order needs no key: without fields it is the input that is refused',
      needs: ['POST /api/forwards/order'],
      isProjectDecision: true,
      run: async ({ http }) => expectRefusal(await http.post('/api/forwards/order', {}), 400),
    },
    {
      id: 'auth.open-buy',
      title: 'the autonomous purchase needs no key: it answers with the challenge, or that nothing is there',
      needs: ['GET /api/agent/tasks/{workflowId}/buy'],
      run: async ({ http }) => expectStatus(await http.get('/api/agent/tasks/wf_test_ok/buy'), 402, 409),
    },
    ...discoveryReads.map(isPublicByDecision),
    ...discoveryReads.map(refusesBadOptionalKey),
    {
      id: 'auth.bearer',
      title: 'a key is presented as Authorization: Bearer',
      needs: [balance],
      run: async (world) =>
        expectObject(await withAuthorization(world, `Bearer ${(await testAgent(world)).apiKey}`)),
    },
    {
      id: 'auth.not-basic',
      title: 'a key under another scheme opens nothing',
      needs: [balance],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const basic = Buffer.from(`${apiKey}:`).toString('base64')
        expectRefusal(await withAuthorization(world, `Basic ${basic}`), 401)
        expectRefusal(await withAuthorization(world, apiKey), 401)
      },
    },
    {
      id: 'auth.not-in-the-address',
      title: 'a key in the address opens nothing',
      needs: [balance],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const query = { apiKey, api_key: apiKey, access_token: apiKey }
        expectRefusal(await world.http.get(balancePath, { query }), 401)
      },
    },
    {
      id: 'auth.key-before-input',
      title: 'who has no key learns nothing about the input: the key is checked first',
      needs: ['POST /api/agents/verify'],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.post('/api/agents/verify', { sessionId: 5 })
        expectRefusal(answer, 401)
        expectThat(!answer.text.includes('sessionId'), 'no word about the input', answer.text)
      },
    },
    {
      id: 'auth.codes',
      title: 'the refusal says whether the key is missing or malformed',
      needs: [balance],
      isProjectDecision: true,
      run: async (world) => {
        expectRefusal(await world.http.get(balancePath), 401, 'missing_api_key')
        expectRefusal(await withAuthorization(world, 'Bearer svc_test_wrong'), 401, 'malformed_api_key')
      },
    },
    {
      id: 'auth.licensed-without-key',
      title: 'the licensed series without a key is answered with 403',
      needs: ['GET /api/index/{code}'],
      run: async ({ http }) => expectRefusal(await http.get('/api/index/VHH_labeling'), 403),
    },
    {
      id: 'auth.licensed-bad-key',
      title: 'the licensed series with a bad key is answered with 403',
      needs: ['GET /api/index/{code}'],
      isProjectDecision: true,
      run: async ({ http }) =>
        expectRefusal(await http.get('/api/index/VHH_labeling', { key: 'svc_test_wrong' }), 403),
    },
    {
      id: 'auth.licensed-history',
      title: 'the history of the composite without a key is answered with 403',
      needs: ['GET /api/index/vhh'],
      run: async ({ http }) =>
        expectRefusal(await http.get('/api/index/vhh', { query: { history: '1' } }), 403),
    },
  ],
}
