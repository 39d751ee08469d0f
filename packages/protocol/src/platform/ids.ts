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
  whk_: { name: 'webhook endpoint', long: false },
  evt_: { name: 'event', long: false },
  dlv_: { name: 'webhook delivery', long: false },
  tsk_: { name: 'micro-task', long: false },
  cmp_: { name: 'task completion', long: false },
  pay_: { name: 'payout request', long: false },
  fwd_: { name: 'forward order', long: false },
  opr_: { name: 'operator', long: false },
  chk_: { name: 'checkout', long: true },
  rfd_: { name: 'refund', long: false },
  asg_: { name: 'assignment of work', long: true },
  ent_: { name: 'ledger entry', long: false },
} as const

export type IdPrefix = keyof typeof idPrefixes

/** Crockford's base32, lower case: it sorts like the encoded number. */
export const base32Alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export const cellTagPattern = /^[a-z0-9]{2}$/

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
] as const
export type Scope = (typeof scopes)[number]
