import type { FastifyInstance, FastifyRequest } from 'fastify'
import { apiVersion, type Endpoint } from '@pohf/protocol'
import type { RequestHeaders } from './call.ts'
import type { Ctx } from '../ops/context.ts'
import { makeRequestScope } from '../ops/tracing/request-scope.ts'

export const headerOf = (
  { headers }: { readonly headers: RequestHeaders },
  name: string,
): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

export const pathOf = (request: Pick<FastifyRequest, 'url'>): string => request.url.split('?')[0] ?? ''

/** Finds the rows of a path, whatever the method. Those of a path without parameters are searched for once. */
export const makeRowFinder = (endpoints: readonly Endpoint[]) => {
  const matchers = endpoints.map((endpoint) => ({
    endpoint,
    pattern: new RegExp(
      `^${endpoint.path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`,
    ),
  }))
  const search = (path: string): readonly Endpoint[] =>
    matchers.filter(({ pattern }) => pattern.test(path)).map(({ endpoint }) => endpoint)
  const fixed = new Set(endpoints.map(({ path }) => path).filter((path) => !path.includes('{')))
  const known = new Map<string, readonly Endpoint[]>()
  return (path: string): readonly Endpoint[] => {
    const rows = known.get(path) ?? search(path)
    if (fixed.has(path)) known.set(path, rows)
    return rows
  }
}
export type RowFinder = ReturnType<typeof makeRowFinder>

/** Where RFC 9728 puts the documents that say how to get access; the path of the resource follows. */
export const protectedResourcePath = '/.well-known/oauth-protected-resource'

const keyAuths: readonly Endpoint['auth'][] = ['bearer', 'optional', 'order', 'licensed']

/** What a 401 asks for. Where an API key is missing or wrong, it names the document that says how to get one. */
export const bearerChallenge = (baseUrl: string, endpoint: Endpoint | undefined): string => {
  if (!endpoint || !keyAuths.includes(endpoint.auth)) return 'Bearer'
  const path = endpoint.isProtectedResource ? endpoint.path : ''
  return `Bearer resource_metadata="${baseUrl}${protectedResourcePath}${path}"`
}

const corsHeaders = (cors: 'echo' | 'any', origin: string | undefined): Record<string, string> => {
  if (cors === 'any') return { 'access-control-allow-origin': '*' }
  if (origin === undefined) return { vary: 'Origin' }
  // Browsers send beacons with credentials; these routes read no cookie, so echoing the origin reveals nothing.
  return { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true', vary: 'Origin' }
}

const exposedAlways = ['X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy']

export const securityHeaders = (ctx: Ctx): Record<string, string> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'no-store',
  'api-version': apiVersion,
  ...(ctx.config.BASE_URL.startsWith('https:')
    ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }
    : {}),
})

/** Sets the request id and the security headers on every response, and those of CORS for the rows that allow it. */
export const addHeaders = (app: FastifyInstance, ctx: Ctx, findRows: RowFinder): void => {
  const security = securityHeaders(ctx)
  app.addHook('onRequest', async (request, reply) => {
    request.startedAt = performance.now()
    request.scope = makeRequestScope([request.id])
    reply.headers({ ...security, 'x-request-id': request.id })
    const rows = findRows(pathOf(request))
    const row = rows.find(({ cors }) => cors)
    if (!row?.cors) return
    const { expose } = row.corsHeaders ?? { expose: [] }
    reply.headers({
      ...corsHeaders(row.cors, headerOf(request, 'origin')),
      'access-control-expose-headers': [...expose, ...exposedAlways].join(', '),
    })
  })
}

/** Answers the preflight of a browser. The answer says what the headers of `addHeaders` allow. */
export const addPreflights = (app: FastifyInstance, findRows: RowFinder): void => {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'OPTIONS') return
    const rows = findRows(pathOf(request))
    const row = rows.find(({ cors }) => cors)
    if (!row) return
    const methods = [...new Set(rows.map(({ method }) => method))].join(', ')
    await reply
      .code(204)
      .headers({
        'access-control-allow-methods': methods,
        'access-control-allow-headers': ['content-type', ...(row.corsHeaders?.allow ?? [])].join(', '),
        'access-control-max-age': '7200',
      })
      .send()
  })
}
