/** What each id prefix names. `long` ids carry 128 random bits: guessing one would reveal something. */
export const idPrefixes = {
  agt_: { name: 'agent', long: false },
  key_: { name: 'API key', long: false },
  ses_: { name: 'session', long: false },
  crd_: { name: 'credential', long: true },
  mem_: { name: 'member', long: false },
  wf_: { name: 'workflow', long: false },
  ord_: { name: 'order', long: false },
  pur_: { name: 'purchase', long: true },
  quo_: { name: 'quote of an order', long: true },
  whk_: { name: 'webhook endpoint', long: false },
  evt_: { name: 'event', long: false },
  dlv_: { name: 'webhook delivery', long: false },
  tsk_: { name: 'micro-task', long: false },
  isu_: { name: 'person of a directory', long: false },
  cpg_: { name: 'campaign of micro-tasks', long: false },
  cmp_: { name: 'task completion', long: false },
  pay_: { name: 'payout request', long: false },
  fwd_: { name: 'forward order', long: false },
  opr_: { name: 'operator', long: false },
  chk_: { name: 'checkout', long: true },
  rfd_: { name: 'refund', long: false },
  apl_: { name: 'approval', long: false },
  apv_: { name: 'approver', long: false },
  asg_: { name: 'assignment of work', long: true },
  ent_: { name: 'ledger entry', long: false },
  iss_: { name: 'sign-in of a company', long: false },
  acc_: { name: 'account', long: false },
  prs_: { name: 'person of an account', long: false },
  ivt_: { name: 'invitation to an account', long: false },
  csn_: { name: 'session in the console', long: false },
  psk_: { name: 'passkey for the console', long: false },
  osn_: { name: 'session of an operator', long: false },
  opk_: { name: 'passkey of an operator', long: false },
} as const

export type IdPrefix = keyof typeof idPrefixes

/** Crockford's base32, lower case: it sorts like the encoded number. */
export const base32Alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export const cellTagPattern = /^[a-z0-9]{2}$/

/** The prefixes of API keys and operator keys. The cell tag follows them. */
export const keyPrefixes = { live: 'svc_live_', test: 'svc_test_', operator: 'svc_op_' } as const

/**
 * Tokens that a later request brings back with no id or key beside them. The cell tag follows the prefix, as in ids and
 * keys. A `random` token is a row of the database; a `signed` one contains its fields and a MAC.
 */
export const tokenPrefixes = {
  cnf_: { name: 'link of a confirmation mail', form: 'random' },
  rcv_: { name: 'link of a recovery mail', form: 'random' },
  inv_: { name: 'invitation link of a member', form: 'random' },
  lgn_: { name: 'login cookie of a person', form: 'random' },
  chl_: { name: 'WebAuthn challenge of a passkey', form: 'random' },
  uhd_: { name: 'WebAuthn user handle of a passkey', form: 'random' },
  lnk_: { name: 'link of a mail to sign in to the console', form: 'random' },
  brw_: { name: 'cookie of the browser that asked for such a link', form: 'random' },
  cso_: { name: 'session cookie of the console', form: 'random' },
  cns_: { name: 'console token', form: 'signed' },
  opw_: { name: 'cookie of the browser in which an operator signs in', form: 'random' },
  ops_: { name: 'session cookie of an operator', form: 'random' },
  opb_: { name: 'bearer of an operator who signed in', form: 'signed' },
  vt_: { name: 'view token', form: 'signed' },
  tkt_: { name: 'token of a micro-task', form: 'signed' },
  tvs_: { name: 'token of a visitor who answers micro-tasks', form: 'signed' },
  stp_: { name: 'step-up link', form: 'signed' },
  cur_: { name: 'cursor of a list', form: 'signed' },
} as const

export type TokenPrefix = keyof typeof tokenPrefixes

const taggedPrefixes = [idPrefixes, tokenPrefixes].flatMap(Object.keys).concat(Object.values(keyPrefixes))
const recoveryCodePattern = /^[a-z0-9]{2}(?:-[a-z0-9]{4}){4}$/

/**
 * The cell tag of an id, a key, a token or a recovery code; undefined for a text without one. The tag is no secret and
 * no proof: it tells a router where to send a request, and anybody can write it.
 */
export const cellOf = (text: string): string | undefined => {
  const prefix = taggedPrefixes.find((candidate) => text.startsWith(candidate))
  if (prefix === undefined) return recoveryCodePattern.test(text) ? text.slice(0, 2) : undefined
  const tag = text.slice(prefix.length, prefix.length + 2)
  return cellTagPattern.test(tag) ? tag : undefined
}

/** Whether the text has the form of an id with this prefix: prefix, cell tag, 10 time and 16 or 26 random characters. */
export const isId = (prefix: IdPrefix, value: string): boolean => {
  const randomChars = idPrefixes[prefix].long ? 26 : 16
  return (
    value.length === prefix.length + 2 + 10 + randomChars &&
    value.startsWith(prefix) &&
    /^[a-z0-9]{2}[0-9a-hjkmnp-tv-z]+$/.test(value.slice(prefix.length))
  )
}

export const modes = ['live', 'test'] as const
export type Mode = (typeof modes)[number]

/** The permissions of a key. Registration grants all; further keys can have fewer. */
export const scopes = [
  'verify',
  'credits',
  'evidence',
  'tracking',
  'work',
  'webhooks',
  'partners',
  'index',
  'keys',
  'approvals',
] as const
export type Scope = (typeof scopes)[number]
