import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type CompactJWSHeaderParameters,
  type CryptoKey,
  type JSONWebKeySet,
} from 'jose'
import { download } from './download.ts'
import type { Fetch, TableOptions } from './policy.ts'
import { CredentialRefusal } from './refusal.ts'

/** Finds the key that a header names, and returns the set that it belongs to. */
export type KeySource = {
  (header: CompactJWSHeaderParameters): Promise<CryptoKey>
  readonly jwks: () => JSONWebKeySet | undefined
}

/** 16 published keys are about 4 kB. */
const maxKeySetBytes = 65_536
const issuersKept = 32

/** jose keeps the set for 10 minutes and asks again for an unknown kid, at most every 30 seconds. */
const remoteKeys = (issuer: string, fetchFile: Fetch): KeySource =>
  createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`), {
    timeoutDuration: 5_000,
    cooldownDuration: 30_000,
    cacheMaxAge: 600_000,
    [customFetch]: async (url) =>
      new Response(await download(fetchFile, url, { maxBytes: maxKeySetBytes, accept: 'application/json' })),
  })

const pinned = new WeakMap<JSONWebKeySet, KeySource>()
const remote = new WeakMap<Fetch, Map<string, KeySource>>()

const pinnedKeys = (jwks: JSONWebKeySet): KeySource => {
  const known = pinned.get(jwks)
  if (known) return known
  try {
    const made = createLocalJWKSet(jwks)
    pinned.set(jwks, made)
    return made
  } catch (cause) {
    throw new TypeError('@pohf/verify: jwks must be a JWK set, {"keys": […]}', { cause })
  }
}

/** The caller's keys, else those of the issuer's own address. A token never determines where keys come from. */
export const keySourceOf = (options: TableOptions): KeySource => {
  if (options.jwks !== undefined) return pinnedKeys(options.jwks)
  const fetchFile = options.fetch ?? globalThis.fetch
  const sources = remote.get(fetchFile) ?? new Map<string, KeySource>()
  remote.set(fetchFile, sources)
  const known = sources.get(options.issuer)
  if (known) return known
  const made = remoteKeys(options.issuer, fetchFile)
  if (sources.size >= issuersKept) sources.clear()
  sources.set(options.issuer, made)
  return made
}

export const findKey = async (source: KeySource, kid: string): Promise<CryptoKey> => {
  try {
    return await source({ alg: 'ES256', kid })
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
      throw new CredentialRefusal('unknown_key', `The issuer has no key ${kid.slice(0, 64)}.`)
    throw new CredentialRefusal(
      'keys_unavailable',
      `The issuer’s keys could not be read: ${errorText(error)}.`,
    )
  }
}

/** The purpose of a key. All keys of the set look alike to a JWT library; only this member tells them apart. */
export const purposeOf = (source: KeySource, kid: string): unknown => {
  const key = source.jwks()?.keys.find((one) => one.kid === kid)
  return key && 'pohf_purpose' in key ? key.pohf_purpose : undefined
}

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))
