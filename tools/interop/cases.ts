import {
  createHash,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type JsonWebKey,
} from 'node:crypto'
import {
  credentialClaims,
  lifetimeDays,
  type CredentialClaims,
  type CredentialKind,
} from '../../packages/protocol/src/index.ts'

export type Jwk = JsonWebKey & { readonly kid: string }
export type Case = {
  readonly name: string
  readonly token: string
  readonly expect: 'accept' | 'refuse'
  /** Signed by the tool, not by the server. */
  readonly fixture: boolean
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const call = async (baseUrl: string, path: string, request: { key?: string; body?: unknown } = {}) => {
  const response = await fetch(`${baseUrl}${path}`, {
    ...(request.body === undefined ? {} : { method: 'POST', body: JSON.stringify(request.body) }),
    headers: {
      'content-type': 'application/json',
      ...(request.key === undefined ? {} : { authorization: `Bearer ${request.key}` }),
    },
    signal: AbortSignal.timeout(10_000),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

/** A signer of the tool's own, with the service's schema of claims: for what a test key cannot have minted. */
const makeLocalSigner = (baseUrl: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const kid = createHash('sha256')
    .update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`)
    .digest('base64url')
  const jwk: Jwk = { kty: 'EC', crv: 'P-256', x: String(x), y: String(y), kid, alg: 'ES256', use: 'sig' }
  const claimsOf = (
    kind: CredentialKind,
    more: Partial<CredentialClaims>,
    ageSeconds = 0,
  ): CredentialClaims => {
    const iat = Math.floor(Date.now() / 1_000) - ageSeconds
    return credentialClaims.parse({
      iss: baseUrl,
      sub: `psu_${'a'.repeat(32)}`,
      jti: 'crd_aa0123456789abcdefghij',
      iat,
      exp: iat + lifetimeDays[kind] * 86_400,
      vct: `${baseUrl}/credentials/${kind}/v1`,
      kind,
      agent: 'agt_aa0123456789',
      verified: true,
      event_at: iat,
      assurance: 'low',
      quality: 0.7,
      evidence: [{ type: 'answer', alg: 'sha-256', hash: 'h'.repeat(43) }],
      status: { status_list: { idx: 1, uri: `${baseUrl}/status/aa-live-1` } },
      ...more,
    })
  }
  const signClaims = (claims: CredentialClaims, header: Record<string, unknown> = {}): string => {
    const input = `${encode({ alg: 'ES256', typ: 'JWT', kid, ...header })}.${encode(claims)}`
    return `${input}.${sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  return { jwk, claimsOf, signClaims }
}

/** What the running server mints for a test key. `work` needs micro-tasks; where they are not built it is missing. */
const mintCredentials = async (baseUrl: string): Promise<Map<CredentialKind, string>> => {
  const { json: agent } = await call(baseUrl, '/api/agents/register', {
    body: { name: 'Interop', contactEmail: 'interop@example.com', mode: 'test' },
  })
  const key = String(agent['apiKey'])
  const minted = new Map<CredentialKind, string>()
  const mint = async (kind: CredentialKind, path: string, body: Record<string, unknown>) => {
    const { status, json } = await call(baseUrl, path, { key, body })
    if (status !== 200 || json['kind'] !== kind)
      throw new Error(`${path} answered ${status} ${JSON.stringify(json)}`)
    minted.set(kind, String(json['pohf_jwt']))
  }
  const verify = '/api/agents/verify'
  await mint('view', verify, { sessionId: 'anyone' })
  await mint('personhood', '/api/agents/verify-personhood', { memberId: 'alice' })
  await mint('binding', '/api/agents/bind-transaction', { paymentRef: 'card:ord_123456', memberId: 'alice' })
  const presence = await call(baseUrl, '/api/kinetic/submit', {
    key,
    body: { memberId: 'alice', source: 'receipt', photoHash: 'photo' },
  })
  await mint('presence', verify, { sessionId: presence.json['sessionId'] })
  const site = `/api/tasks/next?site=${String(agent['agentId'])}`
  // A wrong answer to a question whose answer is known is not verified; a few questions are tried.
  for (let attempt = 0; attempt < 20 && !minted.has('work'); attempt++) {
    const { status, json } = await call(baseUrl, site)
    if (status !== 200) break
    const { token, options } = json['task'] as { token?: string; options?: string[] }
    const answer = options?.[attempt % options.length] ?? 'yes'
    const done = await call(baseUrl, '/api/tasks/complete', { body: { token, answer } })
    if (done.json['verified'] === true) await mint('work', verify, { sessionId: done.json['sessionId'] })
  }
  return minted
}

const makeForgeries = (good: string, serverKey: Jwk, fixture: ReturnType<typeof makeLocalSigner>): Case[] => {
  const [header = '', payload = '', signature = ''] = good.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
  const pem = createPublicKey({ key: serverKey, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const hmacInput = `${encode({ alg: 'HS256', typ: 'JWT', kid: serverKey.kid })}.${payload}`
  const purchase = fixture.claimsOf('purchase', {
    purchase: { id: 'pur_1', workflow: 'wf_1', payer: '0x1', transaction: '0x2' },
  })
  const old = fixture.claimsOf(
    'purchase',
    { purchase: { id: 'pur_1', workflow: 'wf_1', payer: '0x1', transaction: '0x2' } },
    366 * 86_400,
  )
  const tokens: Record<string, string> = {
    tampered: `${header}.${encode({ ...claims, quality: 0.99 })}.${signature}`,
    'alg none': `${encode({ alg: 'none', typ: 'JWT', kid: serverKey.kid })}.${payload}.`,
    'HS256 pem': `${hmacInput}.${createHmac('sha256', pem).update(hmacInput).digest('base64url')}`,
    'unknown kid': fixture.signClaims(purchase, { kid: 'k'.repeat(43) }),
    'other kid': fixture.signClaims(purchase, { kid: serverKey.kid }),
    expired: fixture.signClaims(old),
  }
  return Object.entries(tokens).map(([name, token]) => ({ name, token, expect: 'refuse', fixture: false }))
}

/** Good credentials of every kind and bad ones of every sort, with the keys to tell them apart. */
export const makeCases = async (baseUrl: string): Promise<{ cases: Case[]; keys: Jwk[] }> => {
  const { json } = await call(baseUrl, '/.well-known/jwks.json')
  const serverKeys = json['keys'] as Jwk[]
  const fixture = makeLocalSigner(baseUrl)
  const minted = await mintCredentials(baseUrl)
  const fallback: Partial<Record<CredentialKind, Partial<CredentialClaims>>> = {
    work: { work: { session: 'ses_1', workflow: 'wf_1' } },
    purchase: { purchase: { id: 'pur_1', workflow: 'wf_1', payer: '0x1', transaction: '0x2' } },
  }
  const good = (['view', 'work', 'presence', 'personhood', 'binding', 'purchase'] as const).map(
    (kind): Case => {
      const real = minted.get(kind)
      const token = real ?? fixture.signClaims(fixture.claimsOf(kind, fallback[kind] ?? {}))
      return { name: kind, token, expect: 'accept', fixture: real === undefined }
    },
  )
  const view = minted.get('view') ?? ''
  const { kid } = JSON.parse(Buffer.from(view.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
  const serverKey = serverKeys.find((key) => key.kid === kid)
  if (!serverKey)
    throw new Error(`key ${kid} signed the view credential but is not in the JWKS of the server`)
  return { cases: [...good, ...makeForgeries(view, serverKey, fixture)], keys: [...serverKeys, fixture.jwk] }
}
