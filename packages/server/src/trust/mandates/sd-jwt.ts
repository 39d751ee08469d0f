import { decodeProtectedHeader } from 'jose'
import { digestOf, mandateFault } from '../rules.ts'

/** A hop of a chain: an SD-JWT whose key binding is in its own payload. */
export type Hop = {
  readonly jwt: string
  /** The JWT and its disclosures, as the next hop hashes them. */
  readonly serialized: string
  readonly header: Readonly<Record<string, unknown>>
  /** With every disclosed claim in its place. */
  readonly payload: Readonly<Record<string, unknown>>
  /** The disclosed elements of `delegate_payload`, each with the digest of its disclosure where it has one. */
  readonly delegated: readonly DelegatedClaim[]
}
export type DelegatedClaim = {
  readonly value: Readonly<Record<string, unknown>>
  readonly digest: string | undefined
}

/** Why a hop cannot be read, for its presenter. */
class HopFault extends Error {}
const unreadable = (reason: string): HopFault => new HopFault(reason)

const hopsMax = 4
const levelsMax = 16
/** Disclosures may be shared, so a few of them could unfold into any number of values. */
const valuesMax = 5_000

export type Json = Readonly<Record<string, unknown>>
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** 64 bytes end in a character whose last four bits are zero: one text for each signature. */
const compactForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{85}[AQgw]$/

const parseBase64Json = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))

type Disclosure = { readonly name: string | undefined; readonly value: unknown }
const readDisclosure = (text: string): Disclosure => {
  const parts = parseBase64Json(text)
  if (!Array.isArray(parts) || typeof parts[0] !== 'string')
    throw unreadable('a disclosure is no array with a salt')
  if (parts.length === 2) return { name: undefined, value: parts[1] }
  const [, name, value] = parts
  if (parts.length !== 3 || typeof name !== 'string' || name === '_sd' || name === '...')
    throw unreadable('a disclosure names no claim')
  return { name, value }
}

/** The digest that stands in the place of an element. */
const referenceOf = (element: unknown): string | undefined => {
  if (!isObject(element) || Object.keys(element).length !== 1) return undefined
  return typeof element['...'] === 'string' ? element['...'] : undefined
}

/** Puts disclosed values in their places. What is not disclosed is left out. */
const makeResolver = (disclosures: ReadonlyMap<string, Disclosure>) => {
  let values = 0
  const used = new Set<string>()
  const find = (digest: string): Disclosure | undefined => {
    const disclosed = disclosures.get(digest)
    if (disclosed) used.add(digest)
    return disclosed
  }
  const resolve = (value: unknown, level: number): unknown => {
    values += 1
    if (values > valuesMax) throw unreadable(`it unfolds into more than ${valuesMax} values`)
    if (level > levelsMax) throw unreadable(`it is nested deeper than ${levelsMax} levels`)
    if (Array.isArray(value)) return value.flatMap((element) => resolveElement(element, level + 1))
    return isObject(value) ? resolveObject(value, level + 1) : value
  }
  const resolveElement = (element: unknown, level: number): unknown[] => {
    const digest = referenceOf(element)
    if (digest === undefined) return [resolve(element, level)]
    const disclosed = find(digest)
    return disclosed && disclosed.name === undefined ? [resolve(disclosed.value, level)] : []
  }
  const resolveObject = (object: Json, level: number): Json => {
    const { _sd: digests = [], _sd_alg: _algorithm, ...open } = object
    if (!Array.isArray(digests)) throw unreadable('_sd is no array')
    const claims = new Map(Object.entries(open))
    for (const digest of digests) {
      const disclosed = find(String(digest))
      if (disclosed?.name === undefined) continue
      if (claims.has(disclosed.name)) throw unreadable(`the claim ${disclosed.name} occurs twice`)
      claims.set(disclosed.name, disclosed.value)
    }
    return Object.fromEntries(
      [...claims].map(([name, value]) => {
        if (name === 'constraints') requireDisclosedLimits(value)
        return [name, resolve(value, level)]
      }),
    )
  }
  /** The agent chooses what it discloses: a limit that it withholds must not be a limit that does not exist. */
  const requireDisclosedLimits = (constraints: unknown): void => {
    for (const element of Array.isArray(constraints) ? constraints : []) {
      const digest = referenceOf(element)
      const limit = digest === undefined ? element : disclosures.get(digest)?.value
      const members = isObject(limit) && Array.isArray(limit['_sd']) ? limit['_sd'] : []
      if (limit === undefined || members.some((member) => !disclosures.has(String(member))))
        throw unreadable('a limit of the mandate is not disclosed')
    }
  }
  /** Elements of `delegate_payload`, of which some wallets write the digest alone. */
  const resolveDelegated = (elements: unknown): DelegatedClaim[] => {
    if (!Array.isArray(elements)) return []
    return elements.flatMap((element): DelegatedClaim[] => {
      const digest = typeof element === 'string' ? element : referenceOf(element)
      const disclosed = digest === undefined ? { name: undefined, value: element } : find(digest)
      if (!disclosed || disclosed.name !== undefined) return []
      const value = resolve(disclosed.value, 1)
      return isObject(value) ? [{ value, digest }] : []
    })
  }
  /** RFC 9901: no disclosure without a place. Anybody could have added it to the last hop. */
  const requireAllUsed = (): void => {
    if (used.size !== disclosures.size) throw unreadable('a disclosure has no place')
  }
  return { resolveObject, resolveDelegated, requireAllUsed }
}

const readHop = (serialized: string): Hop => {
  const parts = serialized.split('~')
  const [jwt = '', ...rest] = parts
  const texts = rest.slice(0, -1)
  if (rest.at(-1) !== '' || texts.includes('')) throw unreadable('it does not end with ~')
  const [, payload = ''] = jwt.split('.')
  if (!compactForm.test(jwt)) throw unreadable('it is no compact JWT of ES256')
  const claims = parseBase64Json(payload)
  if (!isObject(claims)) throw unreadable('its payload is no object')
  if (claims['_sd_alg'] !== undefined && claims['_sd_alg'] !== 'sha-256')
    throw unreadable('its _sd_alg is not sha-256')
  const disclosures = new Map(texts.map((text) => [digestOf(text), readDisclosure(text)]))
  if (disclosures.size !== texts.length) throw unreadable('a disclosure occurs twice')
  const { resolveObject, resolveDelegated, requireAllUsed } = makeResolver(disclosures)
  const { delegate_payload: elements, ...others } = claims
  const hop = {
    jwt,
    serialized,
    header: decodeProtectedHeader(jwt),
    payload: resolveObject(others, 0),
    delegated: resolveDelegated(elements),
  }
  requireAllUsed()
  return hop
}

/** The hops of a chain, which are joined by ~~. Nothing is verified yet. */
export const readChain = (text: string, path: string): readonly Hop[] => {
  const texts = text.split('~~')
  if (texts.length < 2 || texts.length > hopsMax)
    throw mandateFault(path, 'hops', `the chain has ${texts.length} hops, expected 2 to ${hopsMax}`)
  return texts.map((hop, index) => {
    try {
      // Joining took the last ~ of every hop but the last.
      return readHop(index === texts.length - 1 || hop.endsWith('~') ? hop : `${hop}~`)
    } catch (error) {
      const reason = error instanceof HopFault ? error.message : 'it is not JSON'
      throw mandateFault(path, 'malformed', `hop ${index + 1} cannot be read: ${reason}`)
    }
  })
}
