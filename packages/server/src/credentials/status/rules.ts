import { createHash } from 'node:crypto'
import type { Mode } from '@pohf/protocol'

/** Layout of a new list: its number of indexes, assigned to processes in blocks. */
export type ListLayout = { readonly entries: number; readonly blockSize: number }
/**
 * With 2 % revoked this is 25 kB compressed and takes a third of a second; ten million indexes would take seconds.
 */
export const defaultListLayout: ListLayout = { entries: 2 ** 20, blockSize: 1_024 }

export type CredentialState = 'issued' | 'suspended' | 'revoked'
/** Why a credential is suspended: an operator did it, its unit of work was rejected, or the payment for it is disputed. */
export type SuspensionGround = 'operator' | 'unit' | 'dispute'

/** The current state of a credential, with what keeps it suspended. */
export type HeldState = { readonly state: CredentialState; readonly grounds: readonly SuspensionGround[] }
export type StateRequest =
  | { readonly to: 'issued' | 'suspended'; readonly ground: SuspensionGround }
  /** With a ground, only where it keeps the credential suspended. */
  | { readonly to: 'revoked'; readonly ground: SuspensionGround | undefined }

/**
 * The state after a request, or undefined where nothing changes. A credential is suspended while it has a ground. An
 * operator who reinstates it lifts all of them.
 */
export const stateAfter = (held: HeldState, request: StateRequest): HeldState | undefined => {
  const { state, grounds } = held
  const { to, ground } = request
  if (state === 'revoked') return undefined
  if (to === 'revoked')
    return ground === undefined || grounds.includes(ground) ? { state: 'revoked', grounds: [] } : undefined
  if (to === 'suspended')
    return grounds.includes(ground) ? undefined : { state: to, grounds: [...grounds, ground] }
  const left = ground === 'operator' ? [] : grounds.filter((other) => other !== ground)
  if (left.length === grounds.length) return undefined
  return { state: left.length === 0 ? 'issued' : 'suspended', grounds: left }
}

/** The list value of each state. */
export const statusValues: Readonly<Record<CredentialState, 0 | 1 | 2>> = {
  issued: 0,
  revoked: 1,
  suspended: 2,
}

export const listName = (cell: string, mode: Mode, number: number): string => `${cell}-${mode}-${number}`
/** The cell whose list this is: no other may write it, because no other publishes it. */
export const cellOfList = (listId: string): string => listId.slice(0, 2)
export const listUri = (baseUrl: string, listId: string): string => `${baseUrl}/status/${listId}`

/** The entity tag of a signed list. */
export const listEtag = (jwt: string): string =>
  `"${createHash('sha256').update(jwt).digest('base64url').slice(0, 22)}"`

/** Packs entries from the database, four bytes each: idx * 4 + value. */
export const packStatuses = (entries: number, words: Buffer): Buffer => {
  const bits = Buffer.alloc(entries / 4)
  for (let offset = 0; offset < words.length; offset += 4) {
    const word = words.readUInt32BE(offset)
    const idx = word >>> 2
    // Two bits each, the first index in the lowest bits of its byte.
    const byte = idx >>> 2
    bits.writeUInt8(bits.readUInt8(byte) | ((word & 3) << ((idx & 3) * 2)), byte)
  }
  return bits
}

/** The value at an index of unpacked states. */
export const statusAt = (states: Buffer, idx: number): number =>
  ((states[idx >> 2] ?? 0) >> ((idx & 3) * 2)) & 3

/** `count` numbers from `first`, in random order. */
export const shuffledRange = (first: number, count: number, fraction: () => number): number[] => {
  const numbers = Array.from({ length: count }, (_, n) => first + n)
  for (let end = count - 1; end > 0; end--) {
    const pick = Math.floor(fraction() * (end + 1))
    const swapped = numbers[end] ?? 0
    numbers[end] = numbers[pick] ?? 0
    numbers[pick] = swapped
  }
  return numbers
}

/**
 * Verifiers cache a list for a minute; the signature is valid for a day, so that half a day without builds breaks
 * nothing.
 */
const ttlSeconds = 60
const validitySeconds = 86_400

type ListTokenInput = {
  readonly issuer: string
  readonly uri: string
  readonly at: Date
  readonly compressed: Buffer
  readonly version: bigint
}
/** The claims of a status list token. */
export const listPayload = ({ issuer, uri, at, compressed, version }: ListTokenInput) => {
  const iat = Math.floor(at.getTime() / 1_000)
  return {
    iss: issuer,
    sub: uri,
    iat,
    exp: iat + validitySeconds,
    ttl: ttlSeconds,
    status_list: { bits: 2, lst: compressed.toString('base64url') },
    pohf_version: Number(version),
  }
}
