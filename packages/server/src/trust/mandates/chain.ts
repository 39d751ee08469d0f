import { calculateJwkThumbprint, compactVerify, importJWK, type JWK } from 'jose'
import { Refusal } from '../../platform/http/errors.ts'
import {
  closedMandateSeconds,
  digestOf,
  mandateDaysMax,
  mandateFault,
  mandateSkewSeconds,
  sha256,
  type Root,
} from '../rules.ts'
import type { KeySets } from '../signatures/key-sets.ts'
import { isObject, readChain, type DelegatedClaim, type Hop, type Json } from './sd-jwt.ts'

/** Both drafts name the same types differently. */
const rootTyp = /^(?!kb)(?:[a-z0-9.-]+\+)?sd[+-]jwt$/
const openTyps: ReadonlySet<unknown> = new Set(['kb-sd-jwt+kb', 'kb+sd-jwt+kb'])
const closedTyps: ReadonlySet<unknown> = new Set(['kb-sd-jwt', 'kb+sd-jwt'])

export type Family = 'checkout' | 'payment'
/** A mandate that a person opened, with limits for the agent. */
export type OpenMandate = {
  readonly value: Json
  readonly digest: string | undefined
  /** Identifies the mandate when its uses are counted. */
  readonly hash: Buffer
}
export type VerifiedChain = {
  readonly root: Root
  /** The thumbprint of the key that closed the mandate. */
  readonly agentKey: string
  readonly open: readonly OpenMandate[]
  readonly closed: Json
  /** What the closed hop repeats of the challenge. */
  readonly nonce: unknown
  readonly closedHash: Buffer
  /** When the last of its open mandates can no longer be used. */
  readonly openUntil: Date | undefined
}
export type ChainContext = {
  readonly keySets: KeySets
  readonly roots: readonly Root[]
  /** In seconds. */
  readonly now: number
  readonly audience: string
}

const isTyp = (family: Family, stage: 'open' | 'closed', vct: unknown): boolean => {
  const name = stage === 'open' ? `mandate.${family}.open` : `mandate.${family}`
  return vct === name || vct === `${name}.1`
}

const findMandate = (
  hop: Hop,
  family: Family,
  stage: 'open' | 'closed',
  path: string,
): DelegatedClaim | undefined => {
  const found = hop.delegated.filter(({ value }) => isTyp(family, stage, value['vct']))
  if (found.length > 1)
    throw mandateFault(path, 'vct', `a hop discloses ${found.length} ${stage} ${family} mandates, expected 1`)
  return found[0]
}

const publicKeyOf = (cnf: unknown, path: string): JWK => {
  const jwk = isObject(cnf) ? cnf['jwk'] : undefined
  if (!isObject(jwk))
    throw mandateFault(path, 'cnf_missing', 'a hop before the last names no key for the next')
  const { kty, crv, x, y } = jwk
  if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string' || 'd' in jwk)
    throw mandateFault(path, 'cnf_key', 'cnf.jwk must be a public key on P-256')
  return { kty, crv, x, y }
}

const verifyHop = async ({ jwt }: Hop, jwk: JWK, path: string, index: number): Promise<void> => {
  try {
    await compactVerify(jwt, await importJWK(jwk, 'ES256'), { algorithms: ['ES256'] })
  } catch {
    throw mandateFault(
      path,
      'signature_wrong',
      `hop ${index + 1} is not signed with ES256 by the key before it`,
    )
  }
}

/** The times of a hop and of what it delegates. Returns the earliest expiry. */
const checkTimes = (hop: Hop, mandate: DelegatedClaim | undefined, now: number, path: string): number => {
  const sources = [hop.payload, mandate?.value ?? {}]
  const read = (source: Json, name: string): number | undefined => {
    const value = source[name]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value)) return value
    throw mandateFault(path, 'malformed', `${name} is no number`)
  }
  for (const source of sources) {
    if (
      (read(source, 'iat') ?? 0) > now + mandateSkewSeconds ||
      (read(source, 'nbf') ?? 0) > now + mandateSkewSeconds
    )
      throw mandateFault(path, 'in_future', 'a hop begins in the future')
    if ((read(source, 'exp') ?? Infinity) <= now - mandateSkewSeconds)
      throw mandateFault(path, 'expired', 'a hop has expired')
  }
  return Math.min(...sources.map((source) => read(source, 'exp') ?? Infinity))
}

/** A hop is bound to the one before it by one hash: over all of it, or over its JWT. */
const checkBinding = ({ payload }: Hop, before: Hop, path: string): void => {
  const { sd_hash: whole, issuer_jwt_hash: jwt } = payload
  const isBound =
    (jwt === undefined && whole === digestOf(before.serialized)) ||
    (whole === undefined && jwt === digestOf(before.jwt))
  if (!isBound) throw mandateFault(path, 'binding', 'a hop is not bound to the one before it')
}

const checkClosed = (
  { payload }: Hop,
  mandate: DelegatedClaim | undefined,
  { now, audience }: ChainContext,
  path: string,
): Json => {
  if (!mandate) throw mandateFault(path, 'vct', 'the last hop discloses no closed mandate of this kind')
  if ('cnf' in payload || 'cnf' in mandate.value)
    throw mandateFault(path, 'cnf_in_closed', 'the closed mandate names a further key')
  if ('constraints' in payload || 'constraints' in mandate.value)
    throw mandateFault(path, 'constraints_in_closed', 'the closed mandate has constraints')
  if (payload['aud'] !== audience) throw mandateFault(path, 'audience', `aud must be ${audience}`)
  const { iat } = payload
  if (typeof iat !== 'number' || iat < now - closedMandateSeconds)
    throw mandateFault(path, 'too_old', `iat must be within the last ${closedMandateSeconds} seconds`)
  return mandate.value
}

const findRootKey = async ({ keySets, roots }: ChainContext, hop: Hop, path: string) => {
  const { iss } = hop.payload
  const { kid, typ } = hop.header
  const root = roots.find(({ kind, name }) => kind === 'issuer' && name === iss)
  if (!root)
    throw new Refusal('untrusted_agent', { message: 'The issuer of the mandates is no trust root here.' })
  if (typeof typ !== 'string' || !rootTyp.test(typ))
    throw mandateFault(path, 'typ', 'the first hop must have a typ of SD-JWT')
  if (typeof kid !== 'string') throw mandateFault(path, 'kid', 'the first hop names no key of its issuer')
  const key = await keySets.find(root, { name: kid, algorithm: 'ecdsa-p256-sha256' })
  if (!key)
    throw new Refusal('untrusted_agent', { message: 'The issuer of the mandates does not publish this key.' })
  return { root, jwk: key.jwk }
}

/** Verifies a chain from its issuer to the closed mandate. */
export const verifyChain = async (
  context: ChainContext,
  text: string,
  family: Family,
): Promise<VerifiedChain> => {
  const path = `${family}_mandate`
  const { now } = context
  const hops = readChain(text, path)
  const [first] = hops
  if (!first) throw mandateFault(path, 'hops', 'the chain has no hop')
  const { root, jwk } = await findRootKey(context, first, path)
  let signer = jwk
  let openUntil = Infinity
  const open: OpenMandate[] = []
  for (const [index, hop] of hops.entries()) {
    const before = hops[index - 1]
    const isLast = index === hops.length - 1
    await verifyHop(hop, signer, path, index)
    if (before) {
      checkBinding(hop, before, path)
      if (!(isLast ? closedTyps : openTyps).has(hop.header['typ']))
        throw mandateFault(path, 'typ', `hop ${index + 1} has the wrong typ for its place`)
    }
    const mandate = findMandate(hop, family, isLast ? 'closed' : 'open', path)
    const expires = checkTimes(hop, mandate, now, path)
    const agentKey = await calculateJwkThumbprint(signer)
    if (isLast) {
      const closed = checkClosed(hop, mandate, context, path)
      const signingInput = hop.jwt.slice(0, hop.jwt.lastIndexOf('.'))
      return {
        root,
        agentKey,
        open,
        closed,
        nonce: hop.payload['nonce'],
        closedHash: sha256(signingInput),
        openUntil: open.length === 0 ? undefined : expiryOf(openUntil, now, path),
      }
    }
    openUntil = Math.min(openUntil, expires)
    if (mandate) {
      const identity = [
        root.name,
        agentKey,
        mandate.digest ?? digestOf(hop.jwt.slice(0, hop.jwt.lastIndexOf('.'))),
      ]
      open.push({ value: mandate.value, digest: mandate.digest, hash: sha256(JSON.stringify(identity)) })
    } else if (before) throw mandateFault(path, 'vct', `hop ${index + 1} discloses no open ${family} mandate`)
    signer = publicKeyOf(mandate?.value['cnf'] ?? hop.payload['cnf'], path)
  }
  throw mandateFault(path, 'hops', 'the chain does not end')
}

/** Uses are remembered until the mandate expires, so it must, and in bounded time. */
const expiryOf = (openUntil: number, now: number, path: string): Date => {
  if (openUntil > now + mandateDaysMax * 86_400)
    throw mandateFault(path, 'expiry', `an open mandate must expire, within ${mandateDaysMax} days`)
  return new Date((openUntil + mandateSkewSeconds) * 1_000)
}
