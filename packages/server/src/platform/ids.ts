import { randomBytes, randomInt } from 'node:crypto'
import { base32Alphabet, idPrefixes, type IdPrefix } from '@pohf/protocol'
import type { Clock } from './clock.ts'

const encode = (value: bigint, length: number): string => {
  let text = ''
  for (let rest = value, i = 0; i < length; i++, rest >>= 5n) text = base32Alphabet[Number(rest & 31n)] + text
  return text
}

const randomBits = (bytes: number): bigint => BigInt(`0x${randomBytes(bytes).toString('hex')}`)

export type Ids = {
  /** A sortable id: prefix, cell tag, 50 bits of milliseconds, then 80 or 130 random bits. */
  make(prefix: IdPrefix): string
  /** 256 random bits as base64url: nonces, tokens, secrets. */
  token(): string
  /** Evenly from 0 up to 1: spreads waits, so that many do not come at once. */
  fraction(): number
}

export const makeIds = (cell: string, clock: Clock): Ids => ({
  make: (prefix) => {
    const time = encode(BigInt(clock.now().getTime()), 10)
    const random = idPrefixes[prefix].long ? encode(randomBits(17), 26) : encode(randomBits(10), 16)
    return `${prefix}${cell}${time}${random}`
  },
  token: () => randomBytes(32).toString('base64url'),
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
})
