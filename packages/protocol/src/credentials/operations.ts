import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { errorBody, instant, queryInstant, reference, text, unitInterval } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { nextPage, pageQuery } from '../platform/lists.ts'

export const credentialKinds = [
  'work',
  'view',
  'presence',
  'personhood',
  'binding',
  'purchase',
  'approval',
] as const
export type CredentialKind = (typeof credentialKinds)[number]
export const assurances = ['low', 'substantial', 'high'] as const
export type Assurance = (typeof assurances)[number]
/** What stands behind a live credential. */
export const rootKinds = [
  'network',
  'authenticator',
  'app',
  'privacy_pass',
  'sms',
  'card',
  'payout_account',
  'bond',
  'pid',
  'pid_number',
  'world_id',
  'vendor',
  'organization',
] as const
export type RootKind = (typeof rootKinds)[number]
/** What the issuer of a root relies on. Roots of one class are not independent. */
export const rootClasses = [
  'address',
  'device:fido',
  'device:phone',
  'number',
  'bank',
  'deposit',
  'document',
  'biometric:world',
  'employer',
] as const
export type RootClass = (typeof rootClasses)[number]
/** Classes of what 1,000 forged credentials cost: below 1 USD, 1 to 10, 10 to 100, 100 to 1,000, more. */
export const forgingClasses = ['F0', 'F1', 'F2', 'F3', 'F4'] as const
export const uniquenessLevels = [
  'none',
  'account',
  'device',
  'attested',
  'external',
  'number',
  'deposit',
  'organization',
] as const
export const keyPurposes = [
  'live',
  'test',
  'status',
  'epoch',
  'onchain',
  'onchain-test',
  'forging',
  'order',
  'report',
] as const
export const rails = ['card', 'usdc', 'x402', 'mpp', 'ousd', 'agentpay', 'other'] as const

const evmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be an EVM address')
const walletSignature = z.string().regex(/^0x[0-9a-fA-F]{2,8192}$/, 'must be hexadecimal')
const walletNonce = text(128)

const hex32 = z.string().regex(/^0x[0-9a-f]{64}$/)

/** What a credential must reach. A call can raise the policy of the profile and never lowers it. */
const floor = {
  minAssurance: z
    .enum(assurances)
    .optional()
    .meta({ description: 'Refuse the call, uncharged, where the credential would have less assurance.' }),
  minForging: z.enum(forgingClasses).optional().meta({
    description:
      'Refuse the call, uncharged, where 1,000 such acts cost less to forge by the table at /.well-known/pohf-forging.json, or where the price is unknown.',
  }),
  minForgingHuman: z.enum(forgingClasses).optional().meta({
    description:
      'Refuse the call, uncharged, where no root counts humans, or where 1,000 distinct humans cost less to forge by the same table.',
  }),
}
/** The largest limit of acts that an agent sets for a person: the budget of one unit of a counted root. */
export const actsPerHumanPerDayMax = 200
export const kindFloor = z
  .strictObject({
    ...floor,
    maxActsPerHumanPerDay: z.int().min(1).max(actsPerHumanPerDayMax).optional().meta({
      description:
        'How many credentials of this kind one human gets from you in a UTC day, counted on every root of the act that counts humans. It needs minForgingHuman, or minAssurance high.',
    }),
  })
  .refine(
    ({ maxActsPerHumanPerDay, minForgingHuman, minAssurance }) =>
      maxActsPerHumanPerDay === undefined || minForgingHuman !== undefined || minAssurance === 'high',
    { path: ['maxActsPerHumanPerDay'], error: 'needs minForgingHuman, or minAssurance high' },
  )
  .optional()
/** For the kinds that verify and verify-personhood mint. */
export const credentialPolicy = z
  .strictObject({ work: kindFloor, view: kindFloor, presence: kindFloor, personhood: kindFloor })
  .meta({ description: 'The floor of each kind; a kind that is left out has none.' })
export type CredentialPolicy = z.output<typeof credentialPolicy>
export type CredentialFloor = NonNullable<CredentialPolicy['view']>
/** What a call itself demands: it raises the floor and sets no limit. */
export type CallFloor = Omit<CredentialFloor, 'maxActsPerHumanPerDay'>

export const telemetry = z.object({ alg: z.string(), link: z.string(), root: z.string(), n: z.int().min(0) })
export const credentialResponse = z.object({
  pohf_jwt: z.string().meta({ description: 'ES256 compact JWT; verify it against the JWKS.' }),
  verified: z.boolean(),
  quality: unitInterval(),
  credentialId: z.string(),
  kind: z.enum(credentialKinds),
  assurance: z.enum(assurances),
  expiresAt: instant(),
  statusUri: z.url().optional().meta({
    description:
      'The status list entry of the credential. Absent on credentials that were minted before status lists existed.',
  }),
  telemetry: telemetry.optional(),
})

export const verify = operation({
  summary: 'Mint a credential for a human session.',
  errors: [
    'insufficient_credits',
    'not_found',
    'session_not_ready',
    'session_rejected',
    'session_expired',
    'network_busy',
    'human_limit_reached',
    'root_suspended',
    'credential_revoked',
    'credential_lost',
    'account_in_debt',
  ],
  body: z.object({ sessionId: reference(128), challenge: text(128).optional(), ...floor }),
  response: credentialResponse.extend({
    vt: z
      .string()
      .optional()
      .meta({ description: 'The view token, for tracking what follows a verified view.' }),
  }),
})

/** The error codes that clients of reCAPTCHA, hCaptcha and Turnstile know. */
export const siteverifyCodes = [
  'missing-input-secret',
  'invalid-input-secret',
  'missing-input-response',
  'invalid-input-response',
  'bad-request',
  'timeout-or-duplicate',
  'sitekey-secret-mismatch',
  'internal-error',
] as const

/** What siteverify says in `error-codes`: the refusals of verify, and those of any call with a key. */
export type SiteverifyRefusal =
  | (typeof verify.errors)[number]
  | 'missing_api_key'
  | 'malformed_api_key'
  | 'invalid_api_key'
  | 'forbidden'
  | 'invalid_json'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'overloaded'
  | 'restore_pending'
  | 'internal_error'

export const siteverify = operation({
  summary: 'Verify a session by the protocol of reCAPTCHA, hCaptcha and Turnstile.',
  bodyLimitBytes: 16_384,
  body: z.object({
    secret: text(256).meta({ description: 'An API key with the scope verify. It is never logged.' }),
    response: z
      .union([z.literal(''), reference(128)])
      .optional()
      .meta({ description: 'The id of the session, which the widget puts into the form.' }),
    remoteip: z.string().max(1_024).nullish().meta({ description: 'Accepted and ignored.' }),
    sitekey: z
      .string()
      .max(128)
      .nullish()
      .meta({ description: 'If it is sent, it must be the id of the agent of the key.' }),
    idempotency_key: z.uuid().nullish().meta({
      description: 'A repeat with the same key gets the same answer for 24 hours.',
    }),
  }),
  response: z.object({
    success: z.boolean(),
    'error-codes': z.array(z.enum(siteverifyCodes)).max(1),
    challenge_ts: instant().optional().meta({ description: 'When the session ended.' }),
    hostname: z
      .string()
      .optional()
      .meta({ description: 'The host of the page that opened the session; absent where no page did.' }),
    score: unitInterval().optional().meta({ description: 'The quality of the session; 1 is best.' }),
    action: z
      .string()
      .optional()
      .meta({ description: 'The challenge with which the page opened the session.' }),
    sessionId: z.string().optional(),
    kind: z.enum(credentialKinds).optional(),
    assurance: z.enum(assurances).optional(),
    credential: z.string().optional().meta({ description: 'The pohf_jwt of the session.' }),
    credentialId: z.string().optional(),
    pohf: errorBody
      .omit({ ok: true })
      .optional()
      .meta({ description: 'Where success is false: the error in the form of every other endpoint.' }),
  }),
})
export const verifyPersonhood = operation({
  summary: 'Mint a personhood credential.',
  errors: [
    'insufficient_credits',
    'not_found',
    'member_not_enrolled',
    'below_policy',
    'wallet_signature_invalid',
    'nonce_expired',
    'nonce_used',
    'network_busy',
    'human_limit_reached',
    'root_suspended',
    'credential_revoked',
    'credential_lost',
    'account_in_debt',
    'chain_unreachable',
  ],
  body: z.object({
    memberId: reference(128),
    wallet: evmAddress.optional(),
    walletSig: walletSignature.optional(),
    walletNonce: walletNonce.optional(),
    ...floor,
  }),
  response: credentialResponse.extend({
    uniqueness: z.enum(uniquenessLevels),
    methods: z.array(z.string()).max(16),
    onchain: z
      .object({
        payload: z.string().meta({ description: 'The signed claims, in base64url.' }),
        r: hex32,
        s: hex32,
        keyId: hex32.meta({ description: 'The 32 bytes of the kid.' }),
      })
      .optional()
      .meta({
        description:
          'With a wallet: the arguments of bind(keyId, payload, r, s) of the HumanRegistry contract that the payload names. Any account may send it.',
      }),
    onchainRefused: z.enum(['another_wallet', 'assurance_too_low', 'no_registry']).optional().meta({
      description:
        'Instead of onchain. another_wallet: a token for another wallet of this human has not expired, and another agent has tokens too. assurance_too_low: the credential is below the assurance that the operator asks for. no_registry: the operator has configured no registry on the chain of the challenge.',
    }),
  }),
})
export const bindTransaction = operation({
  summary: 'Bind a human to a payment reference.',
  errors: [
    'missing_payment_anchor',
    'missing_human_anchor',
    'anchor_mismatch',
    'wallet_signature_invalid',
    'nonce_expired',
    'email_not_confirmed',
    'not_found',
    'nonce_used',
    'session_not_ready',
    'session_rejected',
    'session_expired',
    'member_not_enrolled',
    'network_busy',
    'root_suspended',
    'payment_ref_bound',
    'payment_not_settled',
    'credential_revoked',
    'credential_lost',
    'chain_unreachable',
    'card_provider_unreachable',
  ],
  body: z.object({
    paymentRef: reference(256).optional(),
    sessionId: reference(128).optional(),
    memberId: reference(128).optional(),
    workRef: reference(128).optional(),
    payee: evmAddress.optional().meta({
      description:
        'The payee that the transaction must have paid, when paymentRef names a transaction on a chain.',
    }),
    wallet: evmAddress.optional().meta({
      description:
        'The wallet that paid the transaction. It is proven by walletSig over the message of POST /api/agents/wallet/challenge. Without it the payment is asserted.',
    }),
    walletSig: walletSignature.optional(),
    walletNonce: walletNonce.optional(),
    test: z.boolean().optional(),
  }),
  response: credentialResponse.extend({
    binding: z.object({
      paymentRef: z.string(),
      rail: z.enum(rails),
      assurance: z.enum(['verified', 'asserted', 'test']),
    }),
  }),
})
export const jwks = operation({
  summary: 'Read the public keys (JWKS).',
  cors: 'any',
  response: z.object({
    keys: z.array(
      z.object({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        x: z.string(),
        y: z.string(),
        kid: z.string(),
        alg: z.literal('ES256'),
        use: z.literal('sig'),
        pohf_purpose: z
          .enum(keyPurposes)
          .meta({ description: 'What the key signs. Accept a live credential only under a live key.' }),
      }),
    ),
  }),
})

export const forgingTable = operation({
  summary: 'Read the signed table of what forged credentials cost.',
  cors: 'any',
  response: z.object({
    table: z.string().meta({
      description:
        'A compact JWS of type pohf-forging+jwt, signed by the key with pohf_purpose forging. It is valid for 90 days from its date; afterwards the prices are unknown.',
    }),
  }),
})

export const statusList = operation({
  summary: 'Get a signed list of credential states.',
  cors: 'any',
  errors: ['not_found'],
  params: z.object({ list: text(64) }),
  mediaType: 'application/statuslist+jwt',
  response: z
    .string()
    .meta({ description: 'A status list token: a compact JWT with 2 bits for each index.' }),
})

/** A revoked credential stays revoked; any other is expired once its time is over, and suspended or active before. */
export const credentialStatuses = ['active', 'suspended', 'revoked', 'expired'] as const
const credentialRecord = z.object({
  credentialId: z.string(),
  kind: z.enum(credentialKinds),
  status: z.enum(credentialStatuses),
  assurance: z.enum(assurances),
  quality: unitInterval(),
  sessionId: z
    .string()
    .nullable()
    .meta({ description: 'The session that it was minted for; null for kinds without one.' }),
  issuedAt: instant(),
  expiresAt: instant(),
})
/** A credential as its agent's list shows it. */
export type Credential = z.output<typeof credentialRecord>

export const list = operation({
  summary: 'List your credentials, newest first.',
  query: z.object({
    kind: z.enum(credentialKinds).optional(),
    status: z.enum(credentialStatuses).optional(),
    assurance: z.enum(assurances).optional(),
    since: queryInstant().optional(),
    until: queryInstant().optional(),
    ...pageQuery,
  }),
  response: z.object({ credentials: z.array(credentialRecord).max(100), ...nextPage }),
})
export const read = operation({
  summary: 'Read one of your credentials with its token, claims and changes of state.',
  errors: ['not_found'],
  params: z.object({ credentialId: text(64) }),
  response: credentialRecord.extend({
    pohf_jwt: z.string(),
    statusUri: z.url().optional(),
    claims: z.record(z.string(), z.unknown()).meta({
      description: 'The payload of the token. `evidence` in it has the hash of each piece of evidence.',
    }),
    changes: z
      .array(z.object({ state: z.enum(['issued', 'suspended', 'revoked']), at: instant() }))
      .max(100)
      .meta({ description: 'Its states, the latest first.' }),
  }),
})

const stateChange = {
  errors: ['not_found', 'credential_revoked'],
  params: z.object({ credentialId: text(64) }),
  body: z.object({ reason: text(500) }),
  response: z.object({
    credentialId: z.string(),
    agentId: z.string(),
    mode: z.enum(modes),
    state: z.enum(['issued', 'suspended', 'revoked']),
    statusUri: z.url().optional(),
    registry: z
      .object({
        nullifier: hex32,
        revoke: z.string(),
        chain: z.int().optional(),
        address: evmAddress.optional(),
      })
      .optional()
      .meta({
        description:
          'If the credential was issued with a token for chains: the nullifier of the human, and the call with which the owner of the registry contract revokes it there too.',
      }),
  }),
} as const
export const operatorRevoke = operation({ summary: 'Revoke a credential for good.', ...stateChange })
export const operatorSuspend = operation({ summary: 'Suspend a credential.', ...stateChange })
export const operatorReinstate = operation({
  summary: 'Lift the suspension of a credential.',
  ...stateChange,
})
