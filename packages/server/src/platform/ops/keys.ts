import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const base62 = (value: number, length: number): string => {
  let text = ''
  for (let rest = value, i = 0; i < length; i++, rest = Math.floor(rest / 62))
    text = alphabet.charAt(rest % 62) + text
  return text
}

/** A bearer key: prefix, cell tag, 30 random base62 characters (178 bits), 6 characters of CRC32. */
export const makeKey = (prefix: string, cell: string): string => {
  let body = `${prefix}${cell}`
  for (let i = 0; i < 30; i++) body += alphabet.charAt(randomInt(62))
  return body + base62(crc32(body), 6)
}

/** Whether the text is a complete key with one of the prefixes: finds typing errors without a query. */
export const isWellFormedKey = (prefixes: readonly string[], text: string): boolean => {
  const prefix = prefixes.find((candidate) => text.startsWith(candidate))
  if (prefix === undefined || text.length !== prefix.length + 2 + 30 + 6) return false
  if (!/^[a-z0-9]{2}[0-9A-Za-z]{36}$/.test(text.slice(prefix.length))) return false
  return text.slice(-6) === base62(crc32(text.slice(0, -6)), 6)
}

/** The stored hash of a key or token: 178 random bits need no slow hash. */
export const hashKey = (text: string): Buffer => createHash('sha256').update(text).digest()
