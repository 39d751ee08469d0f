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
    },
    approver: { ref: 'apv_1', enrolled_by: 'per_1', user_verification: true, key_age: 1 },
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

/** Inputs of a small price table: a script for views, and a machine that presses an authenticator. Figures of no market. */
export const forgingInputs: ForgingInputs = {
  measuredAt: '2026-11-01',
  pricedAt: '2026-11-01',
  wagePerHour: 3.6,
  corePerHour: 0.01,
  networks: [
    { name: 'residential traffic', usdPerAddressDay: 0, usdPerGigabyte: 1 },
    { name: 'rented address', usdPerAddressDay: 0.12, usdPerGigabyte: 0.001 },
  ],
  addressActsPerDay: 100,
  strongRootFactor: 10,
  roots: {
    authenticator: {
      item: 'authenticator',
      actsPerDay: 60,
      lifeDays: 30,
      assurance: 'substantial',
      isOwnedByHired: false,
    },
    app: { item: 'phone', actsPerDay: 60, lifeDays: 30, assurance: 'substantial', isOwnedByHired: true },
    payout_account: {
      item: 'account',
      actsPerDay: 200,
      lifeDays: 30,
      assurance: 'substantial',
      isOwnedByHired: true,
    },
    external: {
      item: 'outside_proof',
      actsPerDay: 200,
      lifeDays: 30,
      assurance: 'high',
      isOwnedByHired: true,
    },
  },
  items: { authenticator: 36, phone: 50, account: 20, outside_proof: 30 },
  hiredSeconds: 20,
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
      kind: '*',
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
      fixed: [],
    },
  ],
}

const standardTable = () => ({
  iat: nowSeconds() - 3_600,
  exp: nowSeconds() - 3_600 + 90 * 86_400,
  version: 1,
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
