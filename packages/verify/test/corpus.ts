import { createHmac, sign } from 'node:crypto'
import type { Reason } from '../src/index.ts'
import { base64, kindClaims, origin, type Issuer } from './issuer.ts'

export type HostileToken = {
  readonly name: string
  readonly token: string
  readonly reason: Reason
}

/** The order of P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const split = (token: string): [string, string, string] => {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return [header, payload, signature]
}

/** The other signature that is just as good: (r, n - s). */
export const malleate = (token: string): string => {
  const [header, payload, signature] = split(token)
  const raw = Buffer.from(signature, 'base64url')
  const s = order - BigInt(`0x${raw.subarray(32).toString('hex')}`)
  return `${header}.${payload}.${base64(Buffer.concat([raw.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]))}`
}

const algorithms = (issuer: Issuer, good: string): HostileToken[] => {
  const [header, payload, signature] = split(good)
  const { kid, publicKey } = issuer.keys.live
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  const hmac = (alg: 'HS256' | 'HS512', secret: string | Buffer) => {
    const input = `${base64(JSON.stringify({ alg, typ: 'JWT', kid }))}.${payload}`
    return `${input}.${createHmac(alg === 'HS256' ? 'sha256' : 'sha512', secret)
      .update(input)
      .digest('base64url')}`
  }
  const withHeader = (more: Record<string, unknown>) =>
    `${base64(JSON.stringify({ ...issuer.headerOf('live'), ...more }))}.${payload}.${signature}`
  return [
    { name: 'alg none, no signature', token: `${base64('{"alg":"none"}')}.${payload}.`, reason: 'malformed' },
    ...['none', 'None', 'nOnE', 'ES384', 'ES256K', 'RS256', 'EdDSA', ''].map((alg) => ({
      name: `alg ${alg}, signature kept`,
      token: withHeader({ alg }),
      reason: 'header_refused' as const,
    })),
    {
      name: 'HS256, the public key in PEM as the secret',
      token: hmac('HS256', pem.toString()),
      reason: 'malformed',
    },
    {
      name: 'HS512, the public key in PEM as the secret',
      token: hmac('HS512', pem.toString()),
      reason: 'header_refused',
    },
    {
      name: 'HS512, the JWK as the secret',
      token: hmac('HS512', JSON.stringify(issuer.jwks.keys[0])),
      reason: 'header_refused',
    },
    {
      name: 'no header but its end',
      token: `${header.slice(0, 8)}.${payload}.${signature}`,
      reason: 'malformed',
    },
  ]
}

const headers = (issuer: Issuer): HostileToken[] => {
  const own = (more: Record<string, unknown>) =>
    issuer.signAny('live', { ...issuer.headerOf('live'), ...more }, issuer.claimsOf())
  const extras: Record<string, unknown> = {
    jwk: issuer.jwks.keys[0],
    jku: 'https://evil.example/jwks.json',
    x5u: 'https://evil.example/chain.pem',
    x5c: ['MIIB'],
    'x5t#S256': 'aaaa',
    crit: ['exp'],
    b64: false,
    cty: 'JWT',
    zip: 'DEF',
    nonce: '1',
  }
  const kids: unknown[] = ['', 7, null, ['a'], '../../../dev/null', "' or 1=1 --", 'a b', 'k'.repeat(129)]
  const types: unknown[] = ['vhh-epoch+jwt', 'statuslist+jwt', 'jwt', 'JOSE', 'checkout+jwt', null, ['JWT']]
  return [
    ...Object.entries(extras).map(([name, value]) => ({
      name: `header with ${name}, well signed`,
      token: own({ [name]: value }),
      reason: 'header_refused' as const,
    })),
    ...kids.map((kid) => ({
      name: `kid ${JSON.stringify(kid).slice(0, 24)}`,
      token: own({ kid }),
      reason: 'header_refused' as const,
    })),
    ...types.map((typ) => ({
      name: `typ ${JSON.stringify(typ)}`,
      token: own({ typ }),
      reason: 'header_refused' as const,
    })),
    {
      name: 'no kid at all',
      token: issuer.signAny('live', { alg: 'ES256', typ: 'JWT' }, issuer.claimsOf()),
      reason: 'header_refused',
    },
    { name: 'an unknown kid', token: own({ kid: 'k'.repeat(43) }), reason: 'unknown_key' },
    ...(['test', 'status', 'epoch', 'forging'] as const).map((purpose) => ({
      name: `live claims under the ${purpose} key, well signed`,
      token: issuer.signAny(purpose, issuer.headerOf(purpose), issuer.claimsOf()),
      reason: 'bad_signature' as const,
    })),
    { name: 'the kid of the epoch key', token: own({ kid: issuer.keys.epoch.kid }), reason: 'bad_signature' },
    {
      name: 'an epoch of the index, well signed',
      token: issuer.signAny('epoch', issuer.headerOf('epoch', 'vhh-epoch+jwt'), issuer.claimsOf()),
      reason: 'header_refused',
    },
    {
      name: 'a price table, well signed',
      token: issuer.forgingToken({ entries: [], inputs: {} }),
      reason: 'header_refused',
    },
    { name: 'a status list, well signed', token: issuer.statusToken([]), reason: 'header_refused' },
  ]
}

const signatures = (issuer: Issuer, stranger: Issuer, good: string): HostileToken[] => {
  const [header, payload, signature] = split(good)
  const input = `${header}.${payload}`
  const raw = (r: bigint, s: bigint) =>
    `${input}.${base64(Buffer.from(r.toString(16).padStart(64, '0') + s.toString(16).padStart(64, '0'), 'hex'))}`
  const tail = 'AQgw'.includes(signature.at(-1) ?? '')
    ? String.fromCharCode(signature.charCodeAt(85) + 1)
    : 'B'
  return [
    { name: 'a signature of zeros', token: raw(0n, 0n), reason: 'bad_signature' },
    { name: 'r = s = n', token: raw(order, order), reason: 'bad_signature' },
    { name: 'r = 1, s = 1', token: raw(1n, 1n), reason: 'bad_signature' },
    { name: 'r = n - 1, s = n - 1', token: raw(order - 1n, order - 1n), reason: 'bad_signature' },
    {
      name: 'a DER signature',
      token: `${input}.${base64(sign('sha256', Buffer.from(input), issuer.keys.live.privateKey))}`,
      reason: 'malformed',
    },
    { name: 'half a signature', token: `${input}.${signature.slice(0, 43)}`, reason: 'malformed' },
    {
      name: 'a signature spelled another way',
      token: `${input}.${signature.slice(0, 85)}${tail}`,
      reason: 'malformed',
    },
    { name: 'padded base64', token: `${input}.${signature}==`, reason: 'malformed' },
    {
      name: 'a stranger’s key under our kid',
      token: stranger.signAny('live', issuer.headerOf('live'), issuer.claimsOf()),
      reason: 'bad_signature',
    },
    {
      name: 'the signature of another credential',
      token: `${input}.${split(issuer.mint('work'))[2]}`,
      reason: 'bad_signature',
    },
    {
      name: 'alg twice in the header',
      token: `${base64(`{"alg":"none","alg":"ES256","typ":"JWT","kid":"${issuer.keys.live.kid}"}`)}.${payload}.${signature}`,
      reason: 'bad_signature',
    },
  ]
}

const forms = (issuer: Issuer, good: string): HostileToken[] => {
  const [header, payload, signature] = split(good)
  const texts: Record<string, string> = {
    nothing: '',
    'two parts': `${header}.${payload}`,
    'four parts': `${good}.${signature}`,
    'five parts, like an encrypted token': `${good}.a.b`,
    'two dots together': `${header}..${payload}.${signature}`,
    'a space before': ` ${good}`,
    'a line after': `${good}\n`,
    'a line within': `${header}.${payload.slice(0, 9)}\n${payload.slice(9)}.${signature}`,
    'a zero byte': `${good}\0`,
    'a byte order mark': `\uFEFF${good}`,
    'a Cyrillic letter': good.replace('e', 'е'),
    'full-width dots': good.replaceAll('.', '．'),
    'percent signs': encodeURIComponent(good).replace('.', '%2E'),
    'plain base64 characters': `${header}.${payload.slice(0, -1)}+.${signature}`,
    'with its bearer word': `Bearer ${good}`,
    'the JSON form': JSON.stringify({ payload, signatures: [{ protected: header, signature }] }),
    'a payload that is no UTF-8': issuer.signRaw(
      'live',
      `${header}.${base64(Buffer.from([0x7b, 0xff, 0x7d]))}`,
    ),
  }
  return [
    ...Object.entries(texts).map(([name, token]) => ({ name, token, reason: 'malformed' as const })),
    ...['[]', 'null', '"text"', '7', '{', '[{"iss":"x"}]'].map((text) => ({
      name: `payload ${text}`,
      token: issuer.signRaw('live', `${header}.${base64(text)}`),
      reason: 'malformed' as const,
    })),
    {
      name: 'a huge token, well signed',
      token: issuer.mint('view', { pad: 'x'.repeat(8_192) }),
      reason: 'too_large',
    },
    { name: 'ten million characters', token: 'a'.repeat(10_000_000), reason: 'too_large' },
  ]
}

const otherThan = (value: unknown): unknown =>
  typeof value === 'number' ? value + 1 : typeof value === 'string' ? `${value}x` : null

/** The payload changed after signing, one claim at a time. */
const tampered = (issuer: Issuer): HostileToken[] => {
  const claims = issuer.claimsOf()
  const [header, , signature] = split(issuer.signAny('live', issuer.headerOf('live'), claims))
  const changed = Object.entries(claims).map(([name, value]) => [name, otherThan(value)] as const)
  return [
    ...changed,
    ['assurance', 'high'] as const,
    ['quality', 0.99] as const,
    ['test', true] as const,
  ].map(([name, value]) => ({
    name: `tampered ${name}`,
    token: `${header}.${base64(JSON.stringify({ ...claims, [name]: value }))}.${signature}`,
    reason: 'bad_signature',
  }))
}

const mintLive =
  (issuer: Issuer) =>
  (name: string, more: Record<string, unknown>, reason: Reason): HostileToken => ({
    name,
    token: issuer.mint('view', more),
    reason,
  })

/** Correctly signed by the issuer's keys, with an issuer or mode that must be refused. */
const wrongIssuers = (issuer: Issuer): HostileToken[] => {
  const live = mintLive(issuer)
  const strangers = [
    `${origin}/`,
    `${origin}.evil.example`,
    `https://evil.example/${origin}`,
    `${origin}@evil.example`,
    'https://proof.exampl',
    'https://PROOF.example',
    'http://proof.example',
    `${origin}/test/`,
    `${origin}/test/test`,
    `${origin}/TEST`,
    'proof.example',
  ]
  return [
    ...strangers.map((iss) => live(`issuer ${iss}`, { iss }, 'wrong_issuer')),
    { name: 'a test credential', token: issuer.mintTest(), reason: 'test_credential' },
    {
      name: 'a test credential without its mark, under the test key',
      token: issuer.mintTest('view', { test: undefined }),
      reason: 'bad_signature',
    },
    live('a test issuer without a test mark', { iss: `${origin}/test` }, 'test_credential'),
    live('a live issuer with a test mark, under the live key', { test: true }, 'bad_signature'),
    {
      name: 'a live issuer with a test mark, under the test key',
      token: issuer.mintTest('view', { iss: origin }),
      reason: 'test_credential',
    },
    live('test: false', { test: false }, 'claims_malformed'),
  ]
}

/** Correctly signed by the issuer's keys, with claims that must be refused. */
const wrongClaims = (issuer: Issuer): HostileToken[] => {
  const now = Math.floor(Date.now() / 1_000)
  const live = mintLive(issuer)
  return [
    live('expired', { exp: now - 61 }, 'expired'),
    live('issued in the future', { iat: now + 120 }, 'issued_in_future'),
    live('issued after its end', { iat: now + 50, exp: now + 10 }, 'issued_in_future'),
    ...['iss', 'sub', 'jti', 'iat', 'exp', 'vct', 'agent', 'event_at', 'assurance', 'evidence'].map((name) =>
      live(`without ${name}`, { [name]: undefined }, 'claims_malformed'),
    ),
    ...['iss', 'sub', 'jti', 'iat', 'exp', 'vct', 'kind', 'assurance', 'quality', 'challenge'].map((name) =>
      live(`${name} as an array`, { [name]: [issuer.claimsOf()[name] ?? 'n'] }, 'claims_malformed'),
    ),
    live('exp as text', { exp: String(now + 999) }, 'claims_malformed'),
    live('exp without end', { exp: 1e300 }, 'claims_malformed'),
    live('exp as a fraction', { exp: now + 0.5 }, 'claims_malformed'),
    live('quality above one', { quality: 1.01 }, 'claims_malformed'),
    live('quality null', { quality: null }, 'claims_malformed'),
    live('assurance in capitals', { assurance: 'HIGH' }, 'claims_malformed'),
    live('assurance of the prototype', { assurance: 'constructor' }, 'claims_malformed'),
    live('a kind we do not know', { kind: 'account' }, 'wrong_kind'),
    live('kind __proto__', { kind: '__proto__' }, 'wrong_kind'),
    live('the vct of another kind', { vct: `${origin}/credentials/personhood/v1` }, 'wrong_kind'),
    live('without the object of its kind', { view: undefined }, 'wrong_kind'),
    live('kind changed, object kept', { kind: 'personhood', ...kindClaims.view }, 'wrong_kind'),
    ...[false, 'true', 1, null, [true]].map((verified) =>
      live(`verified ${JSON.stringify(verified)}`, { verified }, 'not_verified'),
    ),
    live(
      'a status of another form',
      { status: { status_list: { idx: -1, uri: issuer.statusUri } } },
      'claims_malformed',
    ),
    live(
      'a status list elsewhere',
      { status: { status_list: { idx: 1, uri: 'https://evil.example/list' } } },
      'status_invalid',
    ),
    live(
      'a status list by a look-alike',
      { status: { status_list: { idx: 1, uri: `${origin}@evil.example/list` } } },
      'status_invalid',
    ),
  ]
}

/** Every hostile token we could think of. */
export const hostileTokens = (issuer: Issuer, stranger: Issuer): HostileToken[] => {
  const good = issuer.mint()
  return [
    ...algorithms(issuer, good),
    ...headers(issuer),
    ...signatures(issuer, stranger, good),
    ...forms(issuer, good),
    ...tampered(issuer),
    ...wrongIssuers(issuer),
    ...wrongClaims(issuer),
  ]
}
