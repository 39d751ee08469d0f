// What somebody does who has installed the packages. It is compiled, bundled and run outside the workspace, so it uses
// nothing of Node: the same text runs in Node, Deno and a browser.
import { endpoints, errorCatalogue, openApiDocument } from '@pohf/protocol'
import { probesText } from '@pohf/protocol/probes'
import { telemetryLimits } from '@pohf/protocol/telemetry'
import { evaluateMotion } from '@pohf/scorer'
import { currentModel } from '@pohf/scorer/current-model'
import { createClient, PohfError } from '@pohf/sdk'
import { verifyCredential } from '@pohf/verify'
import { requestReceiver } from '@pohf/verify/receivers'

export type Fixture = {
  readonly issuer: string
  readonly jwt: string
  readonly jwks: { readonly keys: { readonly kty: string }[] }
  readonly webhook: {
    readonly secret: string
    readonly headers: Record<string, string>
    readonly body: string
  }
}
export type Finding = readonly [name: string, value: unknown]

const verifyOffline = async ({ issuer, jwks }: Fixture, jwt: string): Promise<string> => {
  const policy = { kinds: ['work'], minAssurance: 'low', minQuality: 0, status: 'skip' } as const
  const result = await verifyCredential(jwt, { issuer, jwks, policy })
  return result.ok ? result.claims.kind : result.reason
}

const receiveWebhook = async ({ webhook }: Fixture, body: string): Promise<unknown> => {
  const received: string[] = []
  const receive = requestReceiver({ secret: webhook.secret, onEvent: ({ type }) => received.push(type) })
  const { headers } = webhook
  const { status } = await receive(new Request('https://example.com/', { method: 'POST', headers, body }))
  return [status, received]
}

const callService = async (): Promise<unknown> => {
  const calls: string[] = []
  const client = createClient({
    baseUrl: 'https://proof.example',
    apiKey: 'svc_test_x',
    fetch: async (input, init) => {
      const { method, url } = new Request(input, init)
      calls.push(`${method} ${url}`)
      return calls.length === 1
        ? Response.json({ credentialId: 'crd_1', verified: true })
        : Response.json({ error: 'not_found', message: 'no such credential' }, { status: 404 })
    },
  })
  const { credentialId, verified } = await client.credentials.verify({ sessionId: 'visit-1' })
  const code = await client.credentials.read({ credentialId }).catch((error: unknown) => {
    if (!(error instanceof PohfError)) throw error
    return error.code
  })
  return [verified satisfies boolean, code, calls]
}

/** Types that were lost on the way would accept this. */
export const refusedByTypes = (client: ReturnType<typeof createClient>): Promise<unknown> =>
  // @ts-expect-error a session id is required
  client.credentials.verify({ session: 1 })

/** Uses every library and says what came of it. */
export const useEveryPackage = async (fixture: Fixture): Promise<Finding[]> => [
  ['accepted', await verifyOffline(fixture, fixture.jwt)],
  ['changed signature', await verifyOffline(fixture, `${fixture.jwt.slice(0, -8)}AAAAAAAA`)],
  ['webhook', await receiveWebhook(fixture, fixture.webhook.body)],
  ['changed webhook', await receiveWebhook(fixture, `${fixture.webhook.body} `)],
  ['client', await callService()],
  ['endpoints', endpoints.length === 0],
  ['documented paths', Object.keys(openApiDocument()['paths'] ?? {}).length === 0],
  ['error codes', Object.keys(errorCatalogue).length === 0],
  ['probes', typeof probesText],
  ['telemetry', telemetryLimits.aheadMs > 0],
  ['motion', evaluateMotion([{ t: 0, x: 10, y: 10, type: 'move' }], currentModel).p],
]

/** What `useEveryPackage` returns where all is well. */
export const expectedFindings: readonly Finding[] = [
  ['accepted', 'work'],
  ['changed signature', 'bad_signature'],
  ['webhook', [204, ['credential.issued']]],
  ['changed webhook', [400, []]],
  [
    'client',
    [
      true,
      'not_found',
      [
        'POST https://proof.example/api/agents/verify',
        'GET https://proof.example/api/agents/credentials/crd_1',
      ],
    ],
  ],
  ['endpoints', false],
  ['documented paths', false],
  ['error codes', false],
  ['probes', 'function'],
  ['telemetry', true],
  ['motion', null],
]
