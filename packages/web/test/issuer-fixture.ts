import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { webPages } from '../../server/src/discovery/web-pages.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { rootRules } from '../../protocol/src/credentials/statements.ts'
import type { RootKind } from '../../verify/src/index.ts'
import { makeIssuer, type Issuer } from '../../verify/test/issuer.ts'

type Pages = ReturnType<typeof webPages>

const servePage = async (pages: Pages, path: string, response: ServerResponse): Promise<void> => {
  const page = pages.find((candidate) => candidate.path === path)
  if (!page) return void response.writeHead(404).end()
  const { mediaType, text, headers, status } = await page.handler({
    params: {},
    query: {},
    header: () => undefined,
  })
  response.writeHead(status ?? 200, { 'content-type': mediaType, ...headers }).end(text)
}

type TableBehaviour = 'good' | 'down' | 'expired'
const serveTable = (issuer: Issuer, behaviour: TableBehaviour, response: ServerResponse): void => {
  if (behaviour === 'down') return void response.writeHead(503).end()
  const dates = behaviour === 'expired' ? { iat: 1_000_000_000, exp: 1_007_776_000 } : {}
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ table: issuer.forgingToken(dates) }))
}

/** The built pages on a port, as the server serves them, with an issuer that signs whatever a test needs. */
export const startIssuerFixture = async () => {
  const folder = await builtPages('web')
  const requests: { method: string; url: string; headers: string; body: string }[] = []
  const behaviour = {
    keys: 'good' as 'good' | 'down' | 'slow',
    status: 'good' as 'good' | 'down',
    forging: 'good' as TableBehaviour,
  }
  const parts: { issuer?: Issuer; pages: Pages } = { pages: [] }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = ''] = (request.url ?? '').split('?')
    const { issuer, pages } = parts
    if (path === '/.well-known/jwks.json' && issuer) {
      if (behaviour.keys === 'down') return void response.writeHead(503).end()
      while (behaviour.keys === 'slow') await setTimeout(50)
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(issuer.jwks))
    }
    if (path === '/.well-known/pohf-forging.json' && issuer)
      return serveTable(issuer, behaviour.forging, response)
    if (path === '/status/aa/1' && issuer) {
      if (behaviour.status === 'down') return void response.writeHead(503).end()
      const list = issuer.statusToken([
        [6, 1],
        [7, 2],
      ])
      return void response.writeHead(200, { 'content-type': 'application/statuslist+jwt' }).end(list)
    }
    return servePage(pages, path, response)
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { method = '', url = '', rawHeaders } = request
      requests.push({ method, url, headers: rawHeaders.join('\n'), body })
      void answer(request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const issuer = makeIssuer(url)
  parts.issuer = issuer
  parts.pages = webPages(url, folder)
  return {
    url,
    issuer,
    requests,
    behaviour,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const withStatus = (idx: number, issuer: Issuer) => ({
  status: { status_list: { idx, uri: issuer.statusUri } },
})

/** A root as the service claims it. */
export const rootOf = (kind: RootKind) => ({
  kind,
  class: rootRules[kind].class,
  counted: rootRules[kind].counted,
  fresh: true,
  at: 1_762_560_000,
})
export const networkRoot = rootOf('network')

/** One credential for each state of the page, with what its first word must be. */
export const credentialCases = (
  issuer: Issuer,
  stranger: Issuer,
): readonly (readonly [name: string, jwt: string, chip: string])[] => {
  const valid = issuer.mint('view', { ...withStatus(5, issuer), roots: [networkRoot] })
  const now = Math.floor(Date.now() / 1_000)
  const tampered = (() => {
    const [header, , signature] = valid.split('.')
    const claims = Buffer.from(JSON.stringify(issuer.claimsOf('view', { quality: 0.99 }))).toString(
      'base64url',
    )
    return `${header}.${claims}.${signature}`
  })()
  return [
    ['valid', valid, 'Valid'],
    [
      'authenticator',
      issuer.mint('view', {
        ...withStatus(5, issuer),
        assurance: 'substantial',
        roots: [
          { ...rootOf('authenticator'), model: 'ee882879-721c-4913-9775-3dfcce97072a' },
          { ...rootOf('organization'), issuer: 'https://login.example.com' },
        ],
      }),
      'Valid',
    ],
    [
      'strong',
      issuer.mint('personhood', {
        ...withStatus(5, issuer),
        assurance: 'high',
        roots: [{ ...rootOf('world_id'), fresh: false }],
        uniqueness: 'external',
        wallet: `0x${'ab'.repeat(20)}`,
      }),
      'Valid',
    ],
    ['bare', issuer.mint('binding', { quality: undefined, components: undefined }), 'Valid'],
    [
      'test',
      issuer.mintTest('view', {
        flags: [],
        telemetry: { alg: 'sha256-chain-v1', link: 'l'.repeat(43), root: 'r'.repeat(43), n: 9 },
      }),
      'Test',
    ],
    ['revoked', issuer.mint('work', withStatus(6, issuer)), 'Revoked'],
    ['suspended', issuer.mint('presence', withStatus(7, issuer)), 'Suspended'],
    [
      'expired',
      issuer.mint('view', { iat: now - 40 * 86_400, event_at: now - 40 * 86_400, exp: now - 10 * 86_400 }),
      'Expired',
    ],
    ['forged', tampered, 'Forged'],
    ['stranger', stranger.mint(), 'Not from here'],
    ['nonsense', 'hello, is this a credential?', 'Not a credential'],
    ['key', `svc_test_${'a'.repeat(38)}`, 'Not a credential'],
  ]
}
