import { z } from 'zod'
import { approvalDecisions, approverWays } from '../approvals/operations.ts'
import {
  actsPerHumanPerDayMax,
  assurances,
  credentialKinds,
  forgingClasses,
  rails,
  rootClasses,
  rootKinds,
  uniquenessLevels,
  type RootClass,
  type RootKind,
} from './operations.ts'
import { unitInterval } from '../platform/fields.ts'

const seconds = z.int().min(0)
const hash = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const evidenceItem = z.strictObject({
  type: z.enum([
    'telemetry',
    'recording',
    'photo',
    'receipt',
    'geo',
    'answer',
    'liveness',
    'payment',
    'simulated',
  ]),
  alg: z.enum(['sha-256', 'rfc6962-sha-256']),
  hash,
  n: z.int().min(0).optional(),
})

const probeCount = z.strictObject({ asked: z.int().min(0), hit: z.int().min(0) })

/** What the issuer of each kind of root relies on. */
export const classOfRoot: Readonly<Record<RootKind, RootClass>> = {
  network: 'address',
  authenticator: 'device:fido',
  app: 'device:phone',
  privacy_pass: 'device:phone',
  sms: 'number',
  card: 'bank',
  payout_account: 'bank',
  bond: 'deposit',
  pid: 'document',
  pid_number: 'document',
  world_id: 'biometric:world',
  vendor: 'document',
  organization: 'employer',
}
const isDevice = (kind: RootKind): boolean => kind === 'authenticator' || kind === 'app'

/** Facts only: no counter, no tag, no address and no price. */
const root = z
  .strictObject({
    kind: z.enum(rootKinds),
    class: z.enum(rootClasses),
    /** The address or name of the issuer of an outside proof. */
    issuer: z.string().min(1).max(256).optional(),
    /** The AAGUID of an authenticator, or the id of an app. */
    model: z.string().min(1).max(256).optional(),
    counted: z.boolean(),
    fresh: z.boolean(),
    at: seconds,
  })
  .refine(
    ({ kind, model, issuer }) =>
      (model === undefined || isDevice(kind)) &&
      (issuer === undefined || !(isDevice(kind) || kind === 'network' || kind === 'payout_account')),
    'says more than this kind of root has',
  )
  .refine((claim) => claim.class === classOfRoot[claim.kind], 'is of another class than its kind')
export type RootClaim = z.infer<typeof root>
export const rootsMax = 4

/** Every claim that a credential may carry. Strict: no other claim is ever signed. */
export const credentialClaims = z
  .strictObject({
    iss: z.url(),
    sub: z.string().regex(/^psu_[A-Za-z0-9_-]{32}$/),
    jti: z.string(),
    iat: seconds,
    exp: seconds,
    vct: z.url(),
    kind: z.enum(credentialKinds),
    agent: z.string(),
    verified: z.literal(true),
    event_at: seconds,
    assurance: z.enum(assurances),
    /** The strongest first; of each kind and issuer one. */
    roots: z
      .array(root)
      .min(1)
      .max(rootsMax)
      .refine((roots) => roots.length === 1 || roots.every(({ kind }) => kind !== 'network'), {
        error: 'names a network only where nothing else stands behind it',
      })
      .optional(),
    /** Set where the mint counted the act on every counted root. */
    limit: z.strictObject({ perHumanDay: z.int().min(1).max(actsPerHumanPerDayMax) }).optional(),
    quality: unitInterval().optional(),
    components: z.record(z.string(), unitInterval().nullable()).optional(),
    flags: z.array(z.string()).max(32).optional(),
    scoring: z.string().optional(),
    /** Of a recorded session: how many questions of each kind were asked, and how many were answered right. */
    probes: z.strictObject({ pictures: probeCount, words: probeCount }).optional(),
    uniqueness: z.enum(uniquenessLevels).optional(),
    evidence: z.array(evidenceItem).min(1).max(16),
    status: z.strictObject({
      status_list: z.strictObject({ idx: z.int().min(0).max(1_048_575), uri: z.url().max(512) }),
    }),
    telemetry: z.strictObject({ alg: z.string(), link: hash, root: hash, n: z.int().min(0) }).optional(),
    challenge: z.string().max(128).optional(),
    /** RFC 7800: the key of the page in which the act was recorded, by its thumbprint. */
    cnf: z.strictObject({ jkt: hash }).optional(),
    device: z.strictObject({ method: z.string(), assurance: z.string(), attested_at: seconds }).optional(),
    wallet: z.string().optional(),
    /** Whether a key or a contract signed for the wallet, and the chain of that contract. */
    wallet_type: z.enum(['eoa', 'contract']).optional(),
    wallet_chain: z.int().min(1).optional(),
    test: z.literal(true).optional(),
    work: z.strictObject({ session: z.string(), workflow: z.string().optional() }).optional(),
    view: z.strictObject({ session: z.string() }).optional(),
    presence: z.strictObject({ session: z.string(), source: z.enum(['receipt', 'geo_photo']) }).optional(),
    personhood: z.strictObject({ methods: z.array(z.string()).max(16), checked_at: seconds }).optional(),
    binding: z
      .strictObject({
        payment_ref: z.string(),
        rail: z.enum(rails),
        assurance: z.enum(['verified', 'asserted', 'test']),
        human: z.enum(['session', 'member', 'work']),
        human_ref: z.string(),
        /** Only of a verified payment: when it was checked, amount, currency, and on a chain the payee. */
        checked_at: seconds.optional(),
        amount: z
          .string()
          .regex(/^\d{1,78}(\.\d{1,36})?$/)
          .optional(),
        currency: z
          .string()
          .regex(/^[A-Z0-9]{2,12}$/)
          .optional(),
        payee: z
          .string()
          .regex(/^0x[0-9a-f]{40}$/)
          .optional(),
      })
      .refine(
        (binding) =>
          (binding.assurance === 'verified') === (binding.checked_at !== undefined) &&
          (binding.checked_at !== undefined ||
            (binding.amount === undefined && binding.payee === undefined)) &&
          (binding.amount === undefined) === (binding.currency === undefined),
        'says more of a payment than was looked up',
      )
      .optional(),
    /** `payer`: the wallet that bought it, so that a copy shown by another party is recognized. */
    purchase: z
      .strictObject({ id: z.string(), workflow: z.string(), payer: z.string(), transaction: z.string() })
      .optional(),
    approval: z
      .strictObject({
        id: z.string(),
        type: z.string(),
        envelope_hash: hash,
        view_hash: hash,
        /** The rules by which the view was made. */
        view: z.string(),
        decision: z.enum(approvalDecisions),
        decided_at: seconds,
        consume_by: seconds,
        shown_seconds: seconds.optional(),
      })
      .optional(),
    /** Apart from `assurance`: a synced passkey can well authenticate a named employee. */
    approver: z
      .strictObject({
        ref: z.string(),
        user_verification: z.boolean(),
        /** Seconds since the passkey was registered. */
        key_age: seconds,
        /** Whether the passkey can leave its device, by its own word (WebAuthn, backup eligibility). */
        key: z.enum(['device', 'synced', 'unknown']),
        /** The AAGUID of an attested key. */
        model: z.string().min(1).max(64).optional(),
        enrolled: z.strictObject({ by: z.string(), way: z.enum(approverWays), at: seconds }),
        decided: z.int().min(0).max(10),
        needed: z.int().min(1).max(10),
      })
      .optional(),
  })
  .refine(
    (claims) => (claims.approval === undefined) === (claims.approver === undefined),
    'lacks who decided',
  )
  .refine((claims) => claims[claims.kind] !== undefined, 'lacks the object named after its kind')
  .refine(
    (claims) => credentialKinds.every((kind) => kind === claims.kind || claims[kind] === undefined),
    'has the object of another kind',
  )
  .refine(
    (claims) => claims.status.status_list.uri.startsWith(`${claims.iss.replace(/\/test$/, '')}/status/`),
    'the status list is of another issuer',
  )
  .refine(
    (claims) =>
      (claims.wallet === undefined) === (claims.wallet_type === undefined) &&
      (claims.wallet_chain !== undefined) === (claims.wallet_type === 'contract'),
    'wallet, its type and its chain do not fit',
  )
  .refine((claims) => (claims.test === true) === claims.iss.endsWith('/test'), 'test and issuer disagree')
  .refine((claims) => claims.test !== true || claims.roots === undefined, 'a test credential has no roots')
  .refine(
    ({ limit, roots = [] }) => limit === undefined || roots.some(({ counted }) => counted),
    'a limit needs a counted root',
  )

export type CredentialClaims = z.infer<typeof credentialClaims>

/** The lifetime of a credential of each kind, in days. Test credentials: a week. */
export const lifetimeDays = {
  work: 365,
  view: 30,
  presence: 90,
  personhood: 90,
  binding: 365,
  purchase: 365,
  approval: 365,
} as const
export const testLifetimeDays = 7

/**
 * The claims of an on-chain token, public for ever: a wallet, a code of its human, and the lifetime. Their order is fixed:
 * a contract reads the first four claims by position. `test` comes first, so that a contract rejects it at once.
 */
export const onchainClaims = z
  .strictObject({
    test: z.literal(true).optional(),
    wallet: z.string().regex(/^0x[0-9a-f]{40}$/),
    nul: z.string().regex(/^0x[0-9a-f]{64}$/),
    iat: z.int().min(1_000_000_000).max(9_999_999_999),
    exp: z.int().min(1_000_000_000).max(9_999_999_999),
    /** The contract and the chain that the token is for: it counts for nothing anywhere else. */
    registry: z.string().regex(/^0x[0-9a-f]{40}$/),
    chain: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    iss: z.url().max(512),
  })
  .refine((claims) => (claims.test === true) === claims.iss.endsWith('/test'), 'test and issuer disagree')
  .refine(
    (claims) =>
      claims.exp - claims.iat === (claims.test ? testLifetimeDays : lifetimeDays.personhood) * 86_400,
    'lives as long as the personhood credential beside it',
  )
export type OnchainClaims = z.infer<typeof onchainClaims>

const forgingAmount = z.number().min(0).max(1e12)
const forgingName = z.string().regex(/^[a-z0-9_]{1,64}$/)
/** A decision about an approval has no market price. */
const pricedKind = z.enum(credentialKinds).exclude(['approval'])
const forgingLevel = z.enum([...assurances, 'named'])
const forgingCost = z.strictObject({ usd: forgingAmount, class: z.enum(forgingClasses) })
const forgingPrice = z.union([forgingCost, z.literal('named')])
/** The prices of one root by itself, for one kind: acts at the ceiling, at 10 and at 1 a day for each human, and humans. */
const forgingEntry = z.strictObject({
  kind: pricedKind,
  root: forgingName,
  level: forgingLevel,
  actsB: forgingPrice,
  acts10: forgingPrice,
  acts1: forgingPrice,
  humans: forgingPrice,
})
const forgingFamily = z.strictObject({
  name: forgingName,
  kind: z.enum(credentialKinds),
  root: z.enum(rootKinds),
  assurance: z.enum(assurances),
  successRate: unitInterval(),
  wallSeconds: forgingAmount,
  cpuSeconds: forgingAmount,
  bytes: forgingAmount,
  humanSeconds: forgingAmount,
  rootsSpent: z
    .array(z.strictObject({ kind: z.enum(rootKinds), acts: z.number().positive().max(1e6) }))
    .max(10),
  fixed: z
    .array(
      z.strictObject({
        item: forgingName,
        quantity: z.number().positive().max(1e6),
        lifeActs: z.number().positive().max(1e12),
      }),
    )
    .max(10),
})
const forgingWay = z.strictObject({
  by: z.enum(['buy', 'hire']),
  usd: forgingAmount,
  subjects: z.number().positive().max(1e9),
  lifeDays: z.number().positive().max(36_500),
})
const forgingRoot = z.strictObject({
  class: z.enum(rootClasses),
  level: forgingLevel,
  counted: z.boolean(),
  confirmed: z.boolean(),
  actsPerDay: z.number().positive().max(1e6),
  ways: z.array(forgingWay).max(10),
})
/** The families as they were measured: `npm run arena -- --price` reads and prices them. */
export const forgingFamilies = z.strictObject({
  measuredAt: z.iso.date(),
  families: z.array(forgingFamily).max(60),
})

/** The content of the price table. It has all inputs, so that everybody can compute any price. */
const forgingContent = {
  version: z.literal(2),
  currency: z.literal('USD'),
  perDay: z.literal(10_000),
  roundedDown: z.literal(true),
  entries: z.array(forgingEntry).min(1).max(200),
  inputs: z.strictObject({
    measuredAt: z.iso.date(),
    pricedAt: z.iso.date(),
    wagePerHour: forgingAmount,
    ownerWagePerHour: forgingAmount,
    searchUsd: forgingAmount,
    corePerHour: forgingAmount,
    networks: z
      .array(
        z.strictObject({
          name: forgingName,
          usdPerAddressDay: forgingAmount,
          usdPerGigabyte: forgingAmount,
        }),
      )
      .min(1)
      .max(10),
    addressActsPerDay: z.number().positive().max(1e6),
    items: z.record(forgingName, forgingAmount),
    humanSeconds: z.record(pricedKind, forgingAmount),
    confirmSeconds: forgingAmount,
    roots: z.record(forgingName, forgingRoot),
    families: forgingFamilies.shape.families,
  }),
}
/** The file of a price table, before it is signed. `date` is its date of issue. */
export const forgingFile = z.strictObject({ date: z.iso.date(), ...forgingContent })
export type ForgingFile = z.infer<typeof forgingFile>

export const forgingDays = 90
/** What is signed of a price table. */
export const forgingClaims = z
  .strictObject({ iss: z.url().max(512), iat: seconds, exp: seconds, ...forgingContent })
  .refine(({ iat, exp }) => exp - iat === forgingDays * 86_400, `is valid for ${forgingDays} days`)
  .refine(({ iss }) => !iss.endsWith('/test'), 'the sandbox has no prices')
