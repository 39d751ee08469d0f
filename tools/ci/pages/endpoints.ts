import {
  additions,
  endpoints,
  operatorEndpoints,
  specification,
  type Auth,
  type Endpoint,
} from '../../../packages/protocol/src/index.ts'
import { readConfig } from '../../../packages/server/src/platform/ops/config.ts'
import { addressLimitsOf } from '../../../packages/server/src/platform/http/rate-limits.ts'
import { wideFactor } from '../../../packages/server/src/platform/http/rate-limiter.ts'
import { listRoutes } from '../../../packages/server/test/fixtures/routes.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

const authMeanings: Readonly<Record<Auth, string>> = {
  public: 'The endpoint reads no key.',
  optional:
    'A key may be sent and is then checked. A query parameter that asks for the licensed tier requires one: 403 `license_required`.',
  bearer:
    'An API key with the scope of the endpoint is required: `Authorization: Bearer svc_…`. Without one: 401. Where the scope is (owner), no key is accepted (403): the call needs the console token of an owner who signed in to the console within the last hour, in live mode with a passkey.',
  licensed: 'An API key is required. Without one: 403 `license_required`.',
  order:
    'An API key is required, or a [credential of a trusted agent](../guides/keyless-orders.md). Without either: 401 `auth_required`.',
  member:
    'A signed-in person is required, by cookie. Without one: 401. A write must come from a page of the service.',
  console:
    'A person of an account who is signed in to the console is required, by cookie. Without one: 401. A write must come from a page of the service.',
  operator:
    'An operator key is required, on the operators’ listener, or the bearer of an operator who signed in with a passkey. A bearer that needs a sign-in of the last 15 minutes gets 403 `operator_sign_in_again`.',
  operatorSession:
    'An operator who signed in with a passkey is required, by cookie. Without one: 401. The call must come from a page of the operators’ listener.',
  directory:
    'The bearer token of the directory of an outside issuer is required, which the operator or an owner set up: 401 for any other, and where there is no such issuer.',
  secret:
    'An API key with the scope of the endpoint is required in the field `secret` of the body, which is a form or JSON. Every refusal is 200 with `error-codes`, except 413 `body_too_large` and 429 `rate_limited`: [the protocol](../guides/siteverify.md).',
}

const rowOf = (row: Endpoint): string[] => [
  row.method,
  `\`${row.path}\``,
  row.auth,
  row.scope ?? (row.administratorOnly ? '(owner)' : ''),
  row.limit ?? '',
  `\`${row.publicId}\``,
  row.summary,
]

const head = ['Method', 'Path', 'Auth', 'Scope', 'Limit', 'Public id', 'Summary']

/** The module that holds the operation: the first word of the row's id. */
const sectionsOf = (rows: readonly Endpoint[], level: string): string =>
  [...Map.groupBy(rows, ({ id }) => id.slice(0, id.indexOf('.')))]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([module, found]) => `${level} ${module}\n\n${tableOf(head, found.map(rowOf))}`)
    .join('\n\n')

/** Routes of a listener that are no row of the table: pages, scripts and health. */
const otherRoutes = async (): Promise<string[][]> => {
  const listed = new Set(
    [...endpoints, ...operatorEndpoints].map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1')),
  )
  const routes = await listRoutes()
  return routes
    .filter(({ path }) => !listed.has(path) && !path.startsWith('/assets/'))
    .map(({ listener, path }) => [
      listener === 'api' ? 'public' : 'operators’',
      `\`${path.replaceAll(/:(\w+)/g, '{$1}')}\``,
    ])
}

const windowNames: Readonly<Record<number, string>> = { 60: 'minute', 3_600: 'hour' }

const limitRows = (): string[][] =>
  Object.values(addressLimitsOf(readConfig({ DATABASE_URL: 'postgres://generate' }))).map(
    ({ name, perNetwork, windowSeconds }) => [
      `\`${name}\``,
      ...[perNetwork, perNetwork * wideFactor].map(
        (quota) => `${quota} per ${windowNames[windowSeconds] ?? `${windowSeconds} seconds`}`,
      ),
    ],
  )

const endpointsPage = async (): Promise<string> => `${generatedNote}

# Endpoints

The public listener has ${endpoints.length} endpoints: ${specification.length} of the specification and ${additions.length} that this project added. The operators'
listener has ${operatorEndpoints.length}. Requests, answers and error codes are in [openapi.json](../openapi.json) for the public listener.

| Auth | Meaning |
| --- | --- |
${Object.entries(authMeanings)
  .map(([auth, meaning]) => `| ${auth} | ${meaning} |`)
  .join('\n')}

A call with an API key counts against the limit of its agent: \`KEY_LIMIT_PER_MINUTE\` requests per minute. A limit in
the column "Limit" counts calls by client address besides, for its narrow and its wide network. Clients whose address the service
cannot read count as one address. \`ADDRESS_LIMITS\` switches these limits; by default they are
off only where \`BASE_URL\` is loopback.

${tableOf(['Limit', 'Calls of one IPv4 address or IPv6 /64', 'Calls of one IPv4 /24 or IPv6 /48'], limitRows())}

"Public id" is the name of the endpoint in OpenAPI, the manifest, the SDK and the metrics.

${sectionsOf(endpoints, '##')}

## Operators’ listener

${sectionsOf(operatorEndpoints, '###')}

## Pages and other routes

These routes are pages for people, scripts, discovery and health. They are not in the table of endpoints.

${tableOf(['Listener', 'Path'], await otherRoutes())}
`

export const endpointFiles = async (): Promise<GeneratedFile[]> => [
  ['docs/reference/endpoints.md', await endpointsPage()],
]
