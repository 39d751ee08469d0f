import { createHash, timingSafeEqual } from 'node:crypto'
import { isSignatureError, verifySignature } from 'http-message-sig'
import { isInnerList, parseDictionary } from 'structured-headers'
import { Refusal } from '../../platform/http/errors.ts'
import { signatureFault, signatureSecondsMax, signatureSkewSeconds, type Root } from '../rules.ts'
import {
  fieldOf,
  orderTags,
  readSignature,
  readSignatureAgent,
  type ClaimedSignature,
  type Headers,
} from './fields.ts'
import type { KeySets } from './key-sets.ts'
import { algorithms, type PublishedKey } from './keys.ts'

export type SignedRequest = {
  readonly method: string
  /** From the configured address and the path as it was sent: never from the Host header. */
  readonly targetUri: string
  readonly headers: Headers
  readonly bodyText: string
}
export type VerifiedRequest = {
  readonly root: Root
  readonly key: PublishedKey
  readonly nonce: string
  readonly expires: number
  readonly bodyBound: boolean
}

const textMax = 256

type Parameters = {
  readonly created: number
  readonly expires: number
  readonly keyid: string
  readonly nonce: string
}
const requireParameters = ({ parameters }: ClaimedSignature): Parameters => {
  const integer = (name: string): number => {
    const value = parameters.get(name)
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw signatureFault(
      'parameter_missing',
      `the parameter ${name} is required, as a whole number of seconds`,
    )
  }
  const text = (name: string): string => {
    const value = parameters.get(name)
    if (typeof value === 'string' && value.length >= 1 && value.length <= textMax) return value
    throw signatureFault(
      'parameter_missing',
      `the parameter ${name} is required, as 1 to ${textMax} characters`,
    )
  }
  return {
    created: integer('created'),
    expires: integer('expires'),
    keyid: text('keyid'),
    nonce: text('nonce'),
  }
}

const checkTimes = ({ created, expires }: Parameters, now: number): void => {
  if (created > now + signatureSkewSeconds)
    throw signatureFault(
      'created_in_future',
      `created is more than ${signatureSkewSeconds} seconds in the future`,
    )
  if (expires <= now) throw signatureFault('signature_expired', 'expires has passed')
  if (expires <= created || expires - created > signatureSecondsMax)
    throw signatureFault(
      'lifetime_too_long',
      `expires must be 1 to ${signatureSecondsMax} seconds after created`,
    )
}

const checkComponents = ({ components }: ClaimedSignature): void => {
  const names = components.map(({ name, key }) => JSON.stringify([name, key]))
  if (new Set(names).size !== names.length)
    throw signatureFault('component_duplicate', 'a component is covered twice')
  const covers = (name: string) => components.some((component) => component.name === name)
  if (!covers('@target-uri') && !(covers('@authority') && covers('@path')))
    throw signatureFault('component_missing', 'the signature must cover @target-uri, or @authority and @path')
}

const hashes: Readonly<Record<string, string>> = { 'sha-256': 'sha256', 'sha-512': 'sha512' }

/** Whether Content-Digest has a digest of the body, and no wrong one. */
const isDigestOf = (text: string, body: string): boolean => {
  try {
    const known = [...parseDictionary(text)].flatMap(([name, member]) => {
      const hash = hashes[name]
      return hash === undefined ? [] : [{ hash, value: isInnerList(member) ? undefined : member[0] }]
    })
    return (
      known.length > 0 &&
      known.every(({ hash, value }) => {
        if (!(value instanceof ArrayBuffer)) return false
        const expected = createHash(hash).update(body).digest()
        const given = Buffer.from(value)
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
    )
  } catch {
    return false
  }
}

/** Whether the signature covers the body. One that covers a single member of Content-Digest leaves the other digests open. */
const readBodyBinding = ({ components }: ClaimedSignature, request: SignedRequest): boolean => {
  if (!components.some(({ name, key }) => name === 'content-digest' && key === undefined)) return false
  if (!isDigestOf(fieldOf(request.headers, 'content-digest') ?? '', request.bodyText))
    throw signatureFault('digest_mismatch', 'Content-Digest is not the digest of this body')
  return true
}

type Candidate = { readonly root: Root; readonly key: PublishedKey }
/** The key, out of the sets of trust roots alone. A root that is not in the list is never asked. */
const findCandidates = async (
  keySets: KeySets,
  roots: readonly Root[],
  { keyid, origin }: { readonly keyid: string; readonly origin: string | undefined },
): Promise<readonly Candidate[]> => {
  const asked =
    origin === undefined
      ? roots.filter(({ kind }) => kind === 'jwks')
      : roots.filter(({ kind, name }) => kind === 'directory' && name === origin)
  if (asked.length === 0) throw new Refusal('untrusted_agent')
  const results = await Promise.allSettled(
    asked.map(async (root) => ({
      root,
      key: await keySets.find(root, { name: keyid }),
    })),
  )
  const found = results.flatMap((result) =>
    result.status === 'fulfilled' && result.value.key
      ? [{ root: result.value.root, key: result.value.key }]
      : [],
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (found.length === 0 && failed) throw failed.reason
  if (found.length === 0)
    throw new Refusal('untrusted_agent', { message: 'No trust root of this deployment publishes this key.' })
  return found
}

const checkAlgorithm = ({ parameters }: ClaimedSignature, { key }: Candidate): void => {
  const alg = parameters.get('alg')
  if (alg === undefined) return
  if (!algorithms.some((algorithm) => algorithm === alg))
    throw signatureFault('algorithm_not_accepted', `alg must be one of ${algorithms.join(', ')}`)
  if (alg !== key.algorithm) throw signatureFault('algorithm_mismatch', 'alg does not fit the key')
}

const messageOf = ({ method, targetUri, headers }: SignedRequest) => ({
  kind: 'request' as const,
  method,
  targetUri,
  fields: Object.keys(headers).map((name) => ({ name, value: fieldOf(headers, name) ?? '' })),
})

/** The first candidate by whose key the signature verifies. Two networks may use one key id for different keys. */
const verifyBy = async (
  request: SignedRequest,
  signature: ClaimedSignature,
  candidates: readonly Candidate[],
  now: number,
): Promise<Candidate> => {
  for (const candidate of candidates) {
    try {
      await verifySignature(messageOf(request), {
        label: signature.label,
        policy: {
          algorithms: [...algorithms],
          requiredComponents: [],
          requiredParameters: ['created', 'expires', 'keyid', 'nonce', 'tag'],
          clockSkew: signatureSkewSeconds,
          now,
        },
        resolveVerifier: () => ({ algorithm: candidate.key.algorithm, verify: candidate.key.verify }),
      })
      return candidate
    } catch (error) {
      if (!isSignatureError(error)) throw error
    }
  }
  throw signatureFault('signature_wrong', 'it does not verify over this request')
}

/** Verifies the signature of a request by every rule but the nonce, which is used with the order. */
export const verifySignedRequest = async (
  keySets: KeySets,
  roots: readonly Root[],
  request: SignedRequest,
  now: number,
): Promise<VerifiedRequest> => {
  const signature = readSignature(request.headers)
  if (!orderTags.has(signature.tag))
    throw signatureFault('tag_not_for_orders', `a signature with the tag ${signature.tag} does not order`)
  const parameters = requireParameters(signature)
  checkTimes(parameters, now)
  checkComponents(signature)
  const origin = readSignatureAgent(request.headers, signature)
  const bodyBound = readBodyBinding(signature, request)
  const { keyid, nonce, expires } = parameters
  const candidates = await findCandidates(keySets, roots, { keyid, origin })
  for (const candidate of candidates) checkAlgorithm(signature, candidate)
  const { root, key } = await verifyBy(request, signature, candidates, now)
  if (root.requireDigest && !bodyBound)
    throw signatureFault('digest_required', 'the trust root demands that the signature covers content-digest')
  return { root, key, nonce, expires, bodyBound }
}
