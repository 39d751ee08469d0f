import { randomBytes, timingSafeEqual } from 'node:crypto'
import { cellOf, type tokenPrefixes, type TokenPrefix } from '@pohf/protocol'
import type { Ids } from './ids.ts'
import { hashKey } from './keys.ts'
import { hmacOf, type Secrets } from './secrets.ts'

// Every token that a client sends without an id or a key beside it is made and read here, so that each carries the tag of
// its cell. Tokens from before the tags have none. They are read until they expire; a recovery code never does.

type Cell = Pick<Ids, 'cell'>
type PrefixOf<Form extends string> = {
  [Prefix in TokenPrefix]: (typeof tokenPrefixes)[Prefix]['form'] extends Form ? Prefix : never
}[TokenPrefix]
type RandomPrefix = PrefixOf<'random'>
type SignedPrefix = PrefixOf<'signed'>

/** Twelve groups of base64url, so that a token is also the only spelling of 36 bytes, as WebAuthn requires. */
const tokenLength = 48

/** Prefix, cell tag and 252 random bits. */
export const makeToken = ({ cell }: Cell, prefix: RandomPrefix): string =>
  `${prefix}${cell}${randomBytes(tokenLength).toString('base64url')}`.slice(0, tokenLength)

const untaggedToken = /^[A-Za-z0-9_-]{43}$/
const base64url = /^[A-Za-z0-9_-]+$/

/** Whether the text is a token of this kind that this cell can have made. The tag of another cell is unknown here. */
export const isOwnToken = ({ cell }: Cell, prefix: RandomPrefix, text: string): boolean =>
  untaggedToken.test(text) ||
  (text.length === tokenLength && text.startsWith(prefix) && cellOf(text) === cell && base64url.test(text))

/** The stored hash of a token of this cell; undefined for any other text. */
export const tokenHashOf = (ids: Cell, prefix: RandomPrefix, text: string): Buffer | undefined =>
  isOwnToken(ids, prefix, text) ? hashKey(text) : undefined

/** The challenge that a WebAuthn credential claims, where this cell can have made it; a verifier checks the signature. */
export const readChallenge = (ids: Cell, credential: unknown): string | undefined => {
  try {
    const { response } = credential as { response: { clientDataJSON: string } }
    const client: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))
    const { challenge } = client as { challenge: unknown }
    return typeof challenge === 'string' && isOwnToken(ids, 'chl_', challenge) ? challenge : undefined
  } catch {
    return undefined
  }
}

/** The keys of a kind of signed tokens, of which the first signs, and the cell that signs. */
type TokenSigner = Cell & { readonly keys: readonly [Buffer, ...Buffer[]] }
/** What the makers and readers of signed tokens take from the context. */
export type SigningCtx = { readonly ids: Cell; readonly secrets: Pick<Secrets, 'accepted'> }

/** 128 bits. Compared as text, so that a token has one spelling. */
const macOf = (key: Buffer, signed: string): string =>
  hmacOf(key).update(signed).digest().subarray(0, 16).toString('base64url')

/** Prefix, cell tag, the fields as JSON, and a MAC over all of it. Checking it needs no read. */
export const signToken = (
  { keys, cell }: TokenSigner,
  prefix: SignedPrefix,
  fields: readonly (string | number)[],
): string => {
  const signed = `${prefix}${cell}${Buffer.from(JSON.stringify(fields)).toString('base64url')}`
  return `${signed}.${macOf(keys[0], signed)}`
}

/** The fields begin with `[`, which is W in base64url. A cell tag is lower case, so that a token without one is known. */
const signedToken = /^((?:([a-z]{2,3}_)([a-z0-9]{2})?)?(W[A-Za-z0-9_-]{1,800}))\.([A-Za-z0-9_-]{22})$/

/**
 * The prefix that each kind had before tokens carried a cell tag. Step-up links had none. The kinds with null came later
 * than the tags: no token of theirs is without a tag.
 */
const untaggedPrefixes = {
  vt_: 'vt_',
  tkt_: 'tkt_',
  stp_: undefined,
  tvs_: null,
  cur_: null,
  cns_: null,
  opb_: null,
} as const

/** The fields of a token that this cell signed; undefined for any other text. */
export const readSignedToken = (
  { keys, cell }: TokenSigner,
  prefix: SignedPrefix,
  text: string,
): readonly unknown[] | undefined => {
  const [, signed, textPrefix, tag, fields, mac] = signedToken.exec(text) ?? []
  if (signed === undefined || fields === undefined || mac === undefined) return undefined
  const isTagged = textPrefix === prefix && tag === cell
  const isUntagged = textPrefix === untaggedPrefixes[prefix] && tag === undefined
  if (!isTagged && !isUntagged) return undefined
  const isMacOf = (key: Buffer): boolean =>
    timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, isTagged ? signed : fields)))
  if (!keys.some(isMacOf)) return undefined
  return JSON.parse(Buffer.from(fields, 'base64url').toString('utf8')) as unknown[]
}

/** Without the letters and digits that are mistaken for each other. */
const codeAlphabet = '23456789abcdefghjkmnpqrstvwxyz'
const codeLength = 16

/** A code that a person writes down and types: the cell tag and 78 random bits in groups of four. */
export const makeRecoveryCode = ({ cell }: Cell): string => {
  const letters = Array.from(randomBytes(codeLength), (byte) => codeAlphabet[byte % codeAlphabet.length])
  return `${cell}-${letters.join('').replaceAll(/(.{4})(?=.)/g, '$1-')}`
}

/** The stored hash of a code, however it was typed; undefined for the code of another cell or a text that is none. */
export const recoveryCodeHashOf = ({ cell }: Cell, typed: string): Buffer | undefined => {
  const code = typed.toLowerCase().replaceAll(/[^0-9a-z]/g, '')
  const isOwn = code.length === codeLength + cell.length && code.startsWith(cell)
  return isOwn || code.length === codeLength ? hashKey(code) : undefined
}
