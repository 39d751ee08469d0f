import canonicalize from 'canonicalize'

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

/** The first reason why a value cannot be an action; undefined where it can. */
export const jsonFault = (action: unknown): JsonFault | undefined => {
  const open: { path: string; value: unknown; depth: number }[] = [{ path: '', value: action, depth: 1 }]
  let seen = 0
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value, depth } = next
    seen += 1
    if (seen > actionValuesMax)
      return { path, code: 'size', message: `has more than ${actionValuesMax} values` }
    if (typeof value !== 'object' || value === null) {
      const fault = leafFault(path, value)
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
      const fault = leafFault(at, key)
      if (fault) return fault
      open.push({ path: at, value: inner, depth: depth + 1 })
    }
  }
  return undefined
}

/** RFC 8785: the one form in which equal values have equal bytes. */
export const canonicalJson = (value: Json): string => {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('@pohf/verify: no JSON value')
  return text
}

/** One object of the text that is being read: its keys so far. */
type OpenObject = { readonly keys: Set<string> } | undefined

/**
 * The first key that an object of this text has twice; undefined where there is none. `JSON.parse` keeps the last of two and says
 * nothing, so what a person was shown could differ from what another parser reads. The text must be JSON.
 */
export const duplicateKey = (text: string): string | undefined => {
  const open: OpenObject[] = []
  let expectsKey = false
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/g)) {
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
    else if (expectsKey && inside) {
      const key = JSON.parse(text.slice(index, index + token.length)) as string
      if (inside.keys.has(key)) return key
      inside.keys.add(key)
      expectsKey = false
    }
  }
  return undefined
}
