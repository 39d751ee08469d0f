import { base64url } from 'jose'
import { leewaySeconds, type VerificationContext, type CheckFinding } from './checks.ts'
import { isObject, type SignedClaims } from './claims.ts'
import { download, readCapped } from './download.ts'
import { openJws } from './jws.ts'
import { errorText, type KeySource } from './keys.ts'
import type { Fetch } from './policy.ts'
import { CredentialRefusal } from './refusal.ts'

/** Bounds of the format: 2^20 entries of 2 bits are 256 KiB, which no packing and double base64 takes past 470 KB. */
const maxTokenBytes = 524_288
const maxListBytes = 1_048_576
const listsMax = 8
const maxTtlSeconds = 86_400

type List = { readonly bits: number; readonly bytes: Uint8Array; readonly until: number }
const caches = new WeakMap<Fetch, Map<string, List>>()

const inflate = async (packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> =>
  readCapped(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate')), maxListBytes)

type Source = { readonly uri: string; readonly fetchFile: Fetch; readonly keys: KeySource }

const invalid = (message: string): never => {
  throw new CredentialRefusal('status_invalid', `The status list is not usable: ${message}.`)
}

const fetchToken = async ({ uri, fetchFile }: Source): Promise<string> => {
  try {
    const bytes = await download(fetchFile, uri, {
      maxBytes: maxTokenBytes,
      accept: 'application/statuslist+jwt',
    })
    return new TextDecoder().decode(bytes).trim()
  } catch (error) {
    throw new CredentialRefusal(
      'status_unavailable',
      `The status list could not be read: ${errorText(error)}.`,
    )
  }
}

/** The list's own signature, type, address and dates; a list that fails any check is refused. */
const openList = async (source: Source, token: string, context: VerificationContext): Promise<List> => {
  const { options, nowSeconds } = context
  const payload = await openJws(
    token,
    { typ: 'statuslist+jwt', maxChars: maxTokenBytes, keys: source.keys, purpose: () => 'status' },
    () => undefined,
  ).catch((error: unknown) => {
    if (!(error instanceof CredentialRefusal)) throw error
    throw new CredentialRefusal(
      error.reason === 'keys_unavailable' ? 'status_unavailable' : 'status_invalid',
      `The status list is not usable: ${error.message}`,
    )
  })
  const { iss, sub, iat, exp, ttl, status_list: list } = payload
  if (sub !== source.uri) return invalid('it was made for another address')
  if (iss !== undefined && iss !== options.issuer && iss !== `${options.issuer}/test`)
    return invalid('another issuer made it')
  if (typeof iat !== 'number' || iat > nowSeconds + leewaySeconds) return invalid('its date is in the future')
  if (typeof exp !== 'number' || nowSeconds >= exp + leewaySeconds) return invalid('it has expired')
  if (!isObject(list) || typeof list['lst'] !== 'string') return invalid('it holds no list')
  const bits = list['bits']
  if (bits !== 1 && bits !== 2 && bits !== 4 && bits !== 8) return invalid('its entries have no known size')
  const bytes = await inflate(base64url.decode(list['lst']) as Uint8Array<ArrayBuffer>).catch(
    (error: unknown) => invalid(`it does not unpack, ${errorText(error)}`),
  )
  const freshSeconds = typeof ttl === 'number' && ttl >= 0 ? Math.min(ttl, maxTtlSeconds) : 60
  return { bits, bytes, until: Math.min(exp, nowSeconds + freshSeconds) }
}

const findList = async (source: Source, context: VerificationContext): Promise<List> => {
  const cache = caches.get(source.fetchFile) ?? new Map<string, List>()
  caches.set(source.fetchFile, cache)
  const known = cache.get(source.uri)
  if (known && context.nowSeconds < known.until) return known
  const list = await openList(source, await fetchToken(source), context)
  cache.delete(source.uri)
  const [oldest] = cache.keys()
  if (cache.size >= listsMax && oldest !== undefined) cache.delete(oldest)
  cache.set(source.uri, list)
  return list
}

/** Entry `idx`, counted from the least significant bits of the first byte. */
export const statusAt = (list: Pick<List, 'bits' | 'bytes'>, idx: number): number | undefined => {
  const perByte = 8 / list.bits
  const byte = list.bytes[Math.floor(idx / perByte)]
  return byte === undefined ? undefined : (byte >> ((idx % perByte) * list.bits)) & ((1 << list.bits) - 1)
}

/** Checks the issuer's status list for a revocation. An unknown status is refused. */
export const checkStatus = async (
  claims: SignedClaims,
  context: VerificationContext,
  keys: KeySource,
): Promise<CheckFinding> => {
  const { options } = context
  if (options.policy.status === 'skip') return { note: 'not asked for', skipped: true }
  if (claims.status === undefined) {
    if (options.policy.status === 'require')
      throw new CredentialRefusal(
        'status_missing',
        'The credential names no status list, so it cannot be known whether it was revoked.',
      )
    return { note: 'names no status list: whether it was revoked cannot be known', skipped: true }
  }
  const { idx, uri } = claims.status.status_list
  const url = URL.parse(uri)
  if (!url || url.origin !== new URL(options.issuer).origin || url.username !== '' || url.password !== '')
    return invalid('its address is not the issuer’s')
  const list = await findList({ uri, fetchFile: options.fetch ?? globalThis.fetch, keys }, context)
  const value = statusAt(list, idx)
  if (value === 0) return { note: 'not revoked' }
  if (value === 1) throw new CredentialRefusal('revoked', 'The issuer has revoked this credential.')
  if (value === 2) throw new CredentialRefusal('suspended', 'The issuer has suspended this credential.')
  return invalid(value === undefined ? 'it has no such entry' : `it says ${value}, which has no meaning`)
}
