import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import type { JSONWebKeySet } from 'jose'
import { forgingEntries, type CredentialKind, type Fetch, type ForgingInputs } from '../src/index.ts'

/** An issuer made for a test: keys of its own, and whatever it is told to sign. */
export const origin = 'https://proof.example'
export const base64 = (value: string | Uint8Array): string => Buffer.from(value).toString('base64url')

type Key = { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject }
const makeKey = (): Key => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const kid = createHash('sha256')
    .update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`)
    .digest('base64url')
  return { kid, privateKey, publicKey }
}

const purposes = ['live', 'test', 'status', 'epoch', 'forging', 'report'] as const
type Purpose = (typeof purposes)[number]

export const kindClaims: Readonly<Record<CredentialKind, Record<string, unknown>>> = {
  work: { work: { session: 'ses_1', workflow: 'wf_1' } },
  view: { view: { session: 'ses_1' } },
  presence: { presence: { session: 'ses_1', source: 'receipt' } },
  personhood: { personhood: { methods: ['passkey'], checked_at: 1 } },
  binding: {
    binding: {
      payment_ref: 'card:ord_123456',
      rail: 'card',
      assurance: 'asserted',
      human: 'session',
      human_ref: 'ses_1',
    },
  },
  purchase: { purchase: { id: 'pur_1', workflow: 'wf_1', payer: '0x1', transaction: '0x2' } },
  approval: {
    approval: {
      id: 'apl_1',
      type: 'invoice.pay',
      envelope_hash: 'e'.repeat(43),
      view_hash: 'v'.repeat(43),
      view: 'approval-1',
      decision: 'approve',
      decided_at: 1,
      consume_by: 2,
      shown_seconds: 34,
    },
    approver: {
      ref: 'apv_1',
      user_verification: true,
      key_age: 12 * 86_400,
      key: 'device',
      enrolled: { by: 'per_1', way: 'in_console', at: 1 },
      decided: 2,
      needed: 2,
    },
  },
}

const nowSeconds = () => Math.floor(Date.now() / 1_000)

const standardClaims = (
  issuer: string,
  kind: CredentialKind,
  more: Record<string, unknown>,
): Record<string, unknown> => ({
  iss: issuer,
  sub: `psu_${'a'.repeat(32)}`,
  jti: 'crd_aa0123456789abcdefghijkl',
  iat: nowSeconds() - 41,
  exp: nowSeconds() + 30 * 86_400,
  vct: `${issuer}/credentials/${kind}/v1`,
  kind,
  agent: 'agt_aa0123456789',
  verified: true,
  event_at: nowSeconds() - 41,
  assurance: 'low',
  quality: 0.7,
  components: { focus: 0.97, probe: 0.8, input: 0.71, gaze: null, device: 0.3, history: 0.5 },
  flags: [],
  scoring: 'input-2026.11',
  evidence: [{ type: 'telemetry', alg: 'sha-256', hash: 'h'.repeat(43) }],
  ...kindClaims[kind],
  ...more,
})

/** A list of 2-bit entries, each given as [index, value]; all others are 0. */
const statusListOf = (entries: readonly (readonly [number, number])[]): string => {
  const bytes = Buffer.alloc(262_144)
  for (const [index, value] of entries) {
    const offset = index >> 2
    bytes.writeUInt8(bytes.readUInt8(offset) | (value << ((index & 3) * 2)), offset)
  }
  return base64(deflateSync(bytes))
}

const device = { counted: false, confirmed: false, actsPerDay: 60 } as const
const counted = { counted: true, confirmed: false, actsPerDay: 200 } as const
const owner = (usd: number) => ({ by: 'hire', usd, subjects: 1, lifeDays: 365 }) as const

/** Inputs of a small price table. Figures of no market. */
export const forgingInputs: ForgingInputs = {
  measuredAt: '2026-11-01',
  pricedAt: '2026-11-01',
  wagePerHour: 3.6,
  ownerWagePerHour: 7.2,
  searchUsd: 0.02,
  corePerHour: 0.01,
  networks: [
    { name: 'residential', usdPerAddressDay: 0, usdPerGigabyte: 1 },
    { name: 'rented', usdPerAddressDay: 0.12, usdPerGigabyte: 0.001 },
  ],
  addressActsPerDay: 100,
  items: { phone: 50 },
  humanSeconds: { view: 20, personhood: 1, presence: 1, binding: 1, work: 20, purchase: 20 },
  confirmSeconds: 2,
  roots: {
    network: { ...device, class: 'address', level: 'low', actsPerDay: 100, ways: [] },
    authenticator: {
      ...device,
      class: 'device:fido',
      level: 'substantial',
      ways: [{ by: 'buy', usd: 36, subjects: 1_000_000, lifeDays: 30 }],
    },
    sms: {
      ...counted,
      class: 'number',
      level: 'low',
      ways: [{ by: 'buy', usd: 0.5, subjects: 1, lifeDays: 30 }],
    },
    card: {
      ...counted,
      class: 'bank',
      level: 'low',
      ways: [{ by: 'buy', usd: 6, subjects: 1, lifeDays: 7 }],
    },
    payout_account: {
      ...counted,
      class: 'bank',
      level: 'substantial',
      ways: [{ by: 'buy', usd: 20, subjects: 1, lifeDays: 30 }, owner(3)],
    },
    world_id: {
      ...counted,
      class: 'biometric:world',
      level: 'high',
      ways: [{ by: 'buy', usd: 30, subjects: 1, lifeDays: 365 }, owner(2)],
    },
    world_id_fresh: {
      ...counted,
      class: 'biometric:world',
      level: 'high',
      confirmed: true,
      ways: [{ by: 'buy', usd: 30, subjects: 1, lifeDays: 365 }, owner(2)],
    },
    organization: { ...counted, class: 'employer', level: 'named', ways: [] },
  },
  families: [
    {
      name: 'script',
      kind: 'view',
      root: 'network',
      assurance: 'low',
      successRate: 1,
      wallSeconds: 8,
      cpuSeconds: 0.02,
      bytes: 200_000,
      humanSeconds: 0,
      rootsSpent: [{ kind: 'network', acts: 1 }],
      fixed: [],
    },
    {
      name: 'key_farm',
      kind: 'view',
      root: 'authenticator',
      assurance: 'substantial',
      successRate: 0.5,
      wallSeconds: 8,
      cpuSeconds: 0.02,
      bytes: 200_000,
      humanSeconds: 0,
      rootsSpent: [
        { kind: 'network', acts: 1 },
        { kind: 'authenticator', acts: 1 },
      ],
      fixed: [{ item: 'phone', quantity: 1, lifeActs: 10_000 }],
    },
  ],
}

/** An issuer that vouches for its people. */
export const organization = 'https://login.example.com'
/** The claim `roots` with these kinds, as the service signs it. */
export const rootsOf = (...kinds: readonly string[]) =>
  kinds.map((kind) => ({
    kind,
    class: String(forgingInputs.roots[kind]?.class),
    counted: forgingInputs.roots[kind]?.counted ?? false,
    fresh: true,
    at: nowSeconds() - 41,
    ...(kind === 'organization' ? { issuer: organization } : {}),
  }))

const standardTable = () => ({
  iat: nowSeconds() - 3_600,
  exp: nowSeconds() - 3_600 + 90 * 86_400,
  version: 2,
  currency: 'USD',
  perDay: 10_000,
  roundedDown: true,
  entries: forgingEntries(forgingInputs),
  inputs: forgingInputs,
})

type Files = Readonly<Record<string, () => string | Response>>
/** Serves these files and records the requested URLs. */
const serveFiles = (files: Files): { fetch: Fetch; asked: string[] } => {
  const asked: string[] = []
  return {
    asked,
    fetch: async (url) => {
      asked.push(url)
      const answer = files[url]?.()
      if (answer === undefined) return new Response('not found', { status: 404 })
      return typeof answer === 'string' ? new Response(answer) : answer
    },
  }
}

export const makeIssuer = (issuer = origin) => {
  const keys = Object.fromEntries(purposes.map((purpose) => [purpose, makeKey()])) as Record<Purpose, Key>
  const jwks: JSONWebKeySet = {
    keys: purposes.map((purpose) => ({
      ...keys[purpose].publicKey.export({ format: 'jwk' }),
      kty: 'EC',
      kid: keys[purpose].kid,
      alg: 'ES256',
      use: 'sig',
      pohf_purpose: purpose,
    })),
  }
  const signRaw = (purpose: Purpose, input: string): string =>
    `${input}.${sign('sha256', Buffer.from(input), { key: keys[purpose].privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  /** Signs any header and any payload, as a careless issuer might. */
  const signAny = (purpose: Purpose, header: unknown, payload: unknown): string =>
    signRaw(purpose, `${base64(JSON.stringify(header))}.${base64(JSON.stringify(payload))}`)
  const headerOf = (purpose: Purpose, typ = 'JWT') => ({ alg: 'ES256', typ, kid: keys[purpose].kid })
  const claimsOf = (kind: CredentialKind = 'view', more: Record<string, unknown> = {}) =>
    standardClaims(issuer, kind, more)
  const statusUri = `${issuer}/status/aa/1`

  return {
    issuer,
    keys,
    jwks,
    signRaw,
    signAny,
    headerOf,
    claimsOf,
    mint: (kind: CredentialKind = 'view', more: Record<string, unknown> = {}): string =>
      signAny('live', headerOf('live'), claimsOf(kind, more)),
    mintTest: (kind: CredentialKind = 'view', more: Record<string, unknown> = {}): string =>
      signAny('test', headerOf('test'), claimsOf(kind, { iss: `${issuer}/test`, test: true, ...more })),
    statusUri,
    statusToken: (
      entries: readonly (readonly [number, number])[],
      more: Record<string, unknown> = {},
    ): string =>
      signAny('status', headerOf('status', 'statuslist+jwt'), {
        iss: issuer,
        sub: statusUri,
        iat: nowSeconds(),
        exp: nowSeconds() + 86_400,
        ttl: 60,
        status_list: { bits: 2, lst: statusListOf(entries) },
        ...more,
      }),
    forgingToken: (more: Record<string, unknown> = {}, by: Purpose = 'forging'): string =>
      signAny(by, headerOf(by, 'pohf-forging+jwt'), { iss: issuer, ...standardTable(), ...more }),
    serve: (files: Files = {}) =>
      serveFiles({ [`${issuer}/.well-known/jwks.json`]: () => JSON.stringify(jwks), ...files }),
  }
}
export type Issuer = ReturnType<typeof makeIssuer>
