import canonicalize from 'canonicalize'
import { characterFault } from './permitted-text.ts'

/** What an action may be: JSON whose numbers are whole. Amounts are strings, so that no reader rounds them. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** The serialized action, its levels, and the keys and items of all of them together. */
export const actionBytesMax = 32_768
export const actionDepthMax = 8
const actionValuesMax = 500

export type JsonFault = { readonly path: string; readonly code: string; readonly message: string }

const pointer = (path: string, key: string | number): string =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Why a value is not allowed in an action; undefined where it is. */
const leafFault = (path: string, value: unknown): JsonFault | undefined => {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string') {
    if (!value.isWellFormed()) return { path, code: 'surrogate', message: 'has a lone surrogate' }
    return value.includes('\u0000') ? { path, code: 'nul', message: 'has the character NUL' } : undefined
  }
  if (typeof value !== 'number') return { path, code: 'type', message: 'is no JSON value' }
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return undefined
  return { path, code: 'number', message: 'is not a whole number of at most 2^53 - 1: send a string' }
}

type LeafFault = (path: string, value: unknown) => JsonFault | undefined

/** The same with the characters of texts: the rule for what a person is asked. */
const shownFault: LeafFault = (path, value) => {
  const fault = leafFault(path, value)
  if (fault || typeof value !== 'string') return fault
  const found = characterFault(value)
  return found && { path, code: 'value_not_permitted', message: found.message }
}

const firstFault = (action: unknown, faultOf: LeafFault): JsonFault | undefined => {
  const open: { path: string; value: unknown; depth: number }[] = [{ path: '', value: action, depth: 1 }]
  let seen = 0
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value, depth } = next
    seen += 1
    if (seen > actionValuesMax)
      return { path, code: 'size', message: `has more than ${actionValuesMax} values` }
    if (typeof value !== 'object' || value === null) {
      const fault = faultOf(path, value)
      if (fault) return fault
      continue
    }
    if (depth > actionDepthMax)
      return { path, code: 'depth', message: `is nested deeper than ${actionDepthMax} levels` }
    const prototype = Object.getPrototypeOf(value) as unknown
    if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
      return { path, code: 'type', message: 'is no JSON value' }
    if (Array.isArray(value) && value.length > actionValuesMax)
      return { path, code: 'size', message: `has more than ${actionValuesMax} values` }
    // By index, so that an item that is missing is seen: it would be written as null.
    for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      const at = pointer(path, key)
      const fault = faultOf(at, key)
      if (fault) return fault
      open.push({ path: at, value: inner, depth: depth + 1 })
    }
  }
  return undefined
}

/** The first reason why people cannot be asked about an action; undefined where they can. */
export const jsonFault = (action: unknown): JsonFault | undefined => firstFault(action, shownFault)

/** The same for a stored envelope. What people cannot be asked about any more is read, and shown as refused. */
export const structureFault = (action: unknown): JsonFault | undefined => firstFault(action, leafFault)

/** RFC 8785: the one form in which equal values have equal bytes. */
export const canonicalJson = (value: Json): string => {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('@pohf/verify: no JSON value')
  return text
}

/** One object of the text that is being read: its keys so far. */
type OpenObject = { readonly keys: Set<string> } | undefined
export type JsonTextFault = { readonly code: 'duplicate_key' | 'number_altered'; readonly message: string }

/** A decimal number as its digits and its power of ten; equal numbers are equal texts. `0` has no digits. */
const decimalOf = (text: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  // Only from the first zero of a run: from each of them, a long run within the number takes time by the square of its length.
  const significant = digits.replace(/(?<!0)0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** Whether `JSON.parse` reads a number that is written as another one: too long, too large or too close to zero. */
const isAltered = (text: string): boolean => {
  // Of at most 15 digits, no two decimals without an exponent are one double.
  if (/^-?(?:\d{1,15}|(?=.{3,16}$)\d+\.\d+)$/.test(text)) return false
  const value = Number(text)
  return !Number.isFinite(value) || decimalOf(text) !== decimalOf(String(value))
}

const shownMax = 40
const alteredFault = (text: string): JsonTextFault => ({
  code: 'number_altered',
  message: `has the number ${text.length > shownMax ? `${text.slice(0, shownMax)}…` : text}, which programs read as ${String(Number(text))}: send a string`,
})

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],]|-?\d[\d.eE+-]*/g

/**
 * The first fault of a text that `JSON.parse` hides; undefined where there is none. It keeps the last of two equal keys and rounds
 * numbers, so what a person is shown could differ from what another parser reads. The text must be JSON.
 */
export const jsonTextFault = (text: string): JsonTextFault | undefined => {
  const open: OpenObject[] = []
  let expectsKey = false
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const inside = open.at(-1)
    if (token === '{') {
      open.push({ keys: new Set() })
      expectsKey = true
    } else if (token === '[') {
      open.push(undefined)
      expectsKey = false
    } else if (token === '}' || token === ']') {
      open.pop()
      expectsKey = false
    } else if (token === ',') expectsKey = inside !== undefined
    else if (!token.startsWith('"')) {
      if (isAltered(token)) return alteredFault(token)
    } else if (expectsKey && inside) {
      const key = JSON.parse(text.slice(index, index + token.length)) as string
      if (inside.keys.has(key))
        return { code: 'duplicate_key', message: `has the key ${JSON.stringify(key)} twice` }
      inside.keys.add(key)
      expectsKey = false
    }
  }
  return undefined
}
