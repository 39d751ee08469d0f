import { CredentialRefusal } from './refusal.ts'

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
/** From weak to strong. These words are our own, not levels of eIDAS or NIST. */
export const assurances = ['low', 'substantial', 'high'] as const
export type Assurance = (typeof assurances)[number]
/** What stands behind a live credential; `docs/guides/forging.md` of the project says what each kind shows. */
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
/** What the issuer of a root relies on. Roots of one class are not independent: one purchase covers both. */
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

/** One root of a credential. */
export type Root = {
  readonly kind: RootKind
  readonly class: RootClass
  /** By whom: the address or name of an issuer of outside proofs. */
  readonly issuer?: string | undefined
  /** The AAGUID of an authenticator or the id of an app. */
  readonly model?: string | undefined
  /** Whether the issuer counts each human once, so that one unit is one subject of this agent. */
  readonly counted: boolean
  /** Whether it answered in this act. */
  readonly fresh: boolean
  /** When it was checked, in seconds; where it did not answer in this act, the first second of that month. */
  readonly at: number
}
/** The most roots that a credential names, the strongest first. */
const rootsMax = 4

type ProbeCount = { readonly asked: number; readonly hit: number }

/** The claims of a credential. A test compares them with the protocol's schema. */
export type Claims = {
  readonly iss: string
  /** The person's pseudonym for this agent; each agent gets another value. */
  readonly sub: string
  /** The credential's id. Store it to refuse a second use. */
  readonly jti: string
  readonly iat: number
  readonly exp: number
  readonly vct: string
  readonly kind: CredentialKind
  readonly agent: string
  readonly verified: true
  /** When the act ended, in seconds; `iat` is only when the credential was issued. */
  readonly event_at: number
  readonly assurance: Assurance
  /** Live credentials only, the strongest first. A kind or class that this version does not know raises no price. */
  readonly roots?: readonly Root[] | undefined
  /** How many acts a day of one human this agent gets credentials for: counted on every counted root of the act. */
  readonly limit?: { readonly perHumanDay: number } | undefined
  readonly quality?: number | undefined
  readonly components?: Readonly<Record<string, number | null>> | undefined
  readonly flags?: readonly string[] | undefined
  readonly scoring?: string | undefined
  /** How many questions of each kind were asked in the act, and how many were answered right. */
  readonly probes?: { readonly pictures: ProbeCount; readonly words: ProbeCount } | undefined
  readonly uniqueness?:
    | 'none'
    | 'account'
    | 'device'
    | 'attested'
    | 'external'
    | 'number'
    | 'deposit'
    | 'organization'
    | undefined
  readonly evidence: readonly {
    readonly type: string
    readonly alg: string
    readonly hash: string
    readonly n?: number | undefined
  }[]
  readonly telemetry?:
    { readonly alg: string; readonly link: string; readonly root: string; readonly n: number } | undefined
  readonly recording?: { readonly root: string; readonly n: number } | undefined
  readonly challenge?: string | undefined
  readonly device?:
    { readonly method: string; readonly assurance: string; readonly attested_at: number } | undefined
  readonly cnf?: { readonly jkt: string } | undefined
  readonly wallet?: string | undefined
  /** `contract`: a contract on `wallet_chain` confirmed the signature at that moment; its answer may change. */
  readonly wallet_type?: 'eoa' | 'contract' | undefined
  readonly wallet_chain?: number | undefined
  readonly test?: true | undefined
  readonly status?: { readonly status_list: { readonly idx: number; readonly uri: string } } | undefined
  readonly tlog?: string | undefined
  readonly work?: { readonly session: string; readonly workflow?: string | undefined } | undefined
  readonly view?: { readonly session: string } | undefined
  readonly presence?: { readonly session: string; readonly source: 'receipt' | 'geo_photo' } | undefined
  readonly personhood?: { readonly methods: readonly string[]; readonly checked_at: number } | undefined
  readonly binding?:
    | {
        readonly payment_ref: string
        readonly rail: string
        readonly assurance: 'verified' | 'asserted' | 'test'
        readonly human: 'session' | 'member' | 'work'
        readonly human_ref: string
        /** Only where `assurance` is `verified`: when it was checked, the amount, the currency, and on a chain the payee. */
        readonly checked_at?: number | undefined
        readonly amount?: string | undefined
        readonly currency?: string | undefined
        readonly payee?: string | undefined
      }
    | undefined
  readonly approval?:
    | {
        readonly id: string
        readonly type: string
        readonly envelope_hash: string
        readonly view_hash: string
        /** The rules by which the view was made. */
        readonly view: string
        readonly decision: 'approve' | 'deny'
        readonly decided_at: number
        readonly consume_by: number
        /** How long the page was in view; absent where nothing was counted. */
        readonly shown_seconds?: number | undefined
      }
    | undefined
  /** Who decided. `ref` is the approver's id; `key_age`: seconds since the passkey was registered. */
  readonly approver?:
    | {
        readonly ref: string
        readonly user_verification: boolean
        readonly key_age: number
        /** `device`: the passkey does not leave its device. `synced`: an account can copy it. */
        readonly key: 'device' | 'synced' | 'unknown'
        /** The AAGUID of an attested key. */
        readonly model?: string | undefined
        /** By whom, how and when the approver was enrolled. `by` is the id of a person of the account. */
        readonly enrolled: {
          readonly by: string
          readonly way: 'in_console' | 'mail_link' | 'organization'
          readonly at: number
        }
        /** How many people had approved with this decision, and how many had to. */
        readonly decided: number
        readonly needed: number
      }
    | undefined
  readonly purchase?:
    | { readonly id: string; readonly workflow: string; readonly payer: string; readonly transaction: string }
    | undefined
}

/** Claims with a valid signature that no check has read yet. */
export type SignedClaims = Omit<Claims, 'verified'> & { readonly verified: unknown }

type ClaimTest = (value: unknown) => boolean
const isText: ClaimTest = (value) => typeof value === 'string' && value.length > 0
const isWhole: ClaimTest = (value) => Number.isSafeInteger(value) && Number(value) >= 0
const isSeconds = isWhole
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isStatus: ClaimTest = (value) =>
  isObject(value) &&
  isObject(value['status_list']) &&
  isSeconds(value['status_list']['idx']) &&
  isText(value['status_list']['uri'])

const isRoot: ClaimTest = (value) =>
  isObject(value) &&
  isText(value['kind']) &&
  isText(value['class']) &&
  typeof value['counted'] === 'boolean' &&
  typeof value['fresh'] === 'boolean' &&
  isSeconds(value['at']) &&
  (value['issuer'] === undefined || isText(value['issuer'])) &&
  (value['model'] === undefined || isText(value['model']))

const isProbeCount: ClaimTest = (value) => isObject(value) && isWhole(value['asked']) && isWhole(value['hit'])

/** The form of each claim that a check reads or that a caller stores. Claims that the issuer adds later are ignored. */
const required: Readonly<Record<string, ClaimTest>> = {
  iss: isText,
  sub: isText,
  jti: isText,
  iat: isSeconds,
  exp: isSeconds,
  vct: isText,
  kind: isText,
  agent: isText,
  event_at: isSeconds,
  assurance: (value) => assurances.some((assurance) => assurance === value),
  evidence: Array.isArray,
}
const optional: Readonly<Record<string, ClaimTest>> = {
  quality: (value) => typeof value === 'number' && value >= 0 && value <= 1,
  challenge: isText,
  status: isStatus,
  // A kind that this version does not know has no price; it does not make the credential invalid.
  roots: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= rootsMax && value.every(isRoot),
  limit: (value) => isObject(value) && isWhole(value['perHumanDay']) && value['perHumanDay'] !== 0,
  probes: (value) => isObject(value) && isProbeCount(value['pictures']) && isProbeCount(value['words']),
  test: (value) => value === true,
}

/** Reads signed claims; a claim of another form is refused. */
export const readClaims = (payload: Readonly<Record<string, unknown>>): SignedClaims => {
  for (const [name, form] of Object.entries(required)) {
    if (!form(payload[name]))
      throw new CredentialRefusal('claims_malformed', `The claim ${name} is missing or has another form.`)
  }
  for (const [name, form] of Object.entries(optional)) {
    if (payload[name] !== undefined && !form(payload[name]))
      throw new CredentialRefusal('claims_malformed', `The claim ${name} has another form.`)
  }
  // `verified` and `kind` have separate checks with better reasons than "malformed".
  return payload as unknown as SignedClaims
}
