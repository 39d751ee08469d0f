import type { EndpointRef } from '../../api.ts'
import { at, expectEqual, expectThat, isRecord } from '../../expect.ts'
import type { Section } from '../../statement.ts'
import { updatedTimestamp } from './discovery.ts'

/** Every endpoint of the specification. */
const specifiedEndpoints: readonly EndpointRef[] = [
  'POST /api/agents/register',
  'POST /api/agents/credits/buy',
  'GET /api/agents/credits/balance',
  'POST /api/agents/verify',
  'POST /api/agents/verify-personhood',
  'POST /api/agents/wallet/challenge',
  'POST /api/kinetic/submit',
  'POST /api/agents/attest/challenge',
  'POST /api/agents/attest/verify',
  'POST /api/track/event',
  'POST /api/agents/track/conversion',
  'GET /api/agents/metrics',
  'GET /api/agents/metrics/funnel',
  'GET /api/tasks/next',
  'POST /api/tasks/complete',
  'POST /api/agents/webhooks',
  'POST /api/partner/points/convert',
  'POST /api/partner/payout/request',
  'GET /.well-known/jwks.json',
  'GET /api/workflows/available',
  'POST /api/agents/order',
  'POST /api/agents/order/fund',
  'GET /api/agent/tasks/{workflowId}/buy',
  'POST /api/agents/bind-transaction',
  'GET /api/index',
  'GET /api/index/vhh',
  'GET /api/index/{code}',
  'POST /api/forwards/order',
  'GET /api/agents/discovery',
]

/** The address of Turnstile, so that its clients change the host alone. The version in it is theirs. */
const addressOfTurnstile = '/turnstile/v0/siteverify'

export const versioning: Section = {
  name: 'Versioning',
  statements: [
    {
      id: 'versioning.interface',
      title: 'the interface description is version 1.0.0',
      needs: [],
      run: async ({ api }) => expectEqual(at(api.description, 'info.version'), '1.0.0', 'info.version'),
    },
    {
      id: 'versioning.paths',
      title: 'no path of ours carries a version',
      needs: [],
      run: async ({ api }) => {
        const described = at(api.description, 'paths')
        const paths = Object.keys(isRecord(described) ? described : {})
        expectThat(paths.length > 0, 'described paths', described)
        const versioned = paths.filter((path) => /\/v\d+(\/|$)/.test(path) && path !== addressOfTurnstile)
        expectThat(versioned.length === 0, 'no version in a path', versioned)
      },
    },
    {
      id: 'versioning.complete',
      title: 'the interface description has every endpoint of the specification',
      needs: specifiedEndpoints,
      run: async ({ api }) => {
        expectThat(isRecord(api.description), 'an interface description at /openapi.json', 'none')
        for (const need of specifiedEndpoints) expectThat(api.has(need), need, 'not described')
      },
    },
    {
      id: 'versioning.header',
      title: 'every answer names the version of the interface',
      needs: ['POST /api/agents/register'],
      isProjectDecision: true,
      run: async ({ http }) => {
        const { headers } = await http.post('/api/agents/register', {})
        expectEqual(headers.get('api-version'), '1.0.0', 'Api-Version')
      },
    },
    updatedTimestamp,
  ],
}
