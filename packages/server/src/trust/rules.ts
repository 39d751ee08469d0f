import { createHash } from 'node:crypto'
import type { Mode, TrustRootKind } from '@pohf/protocol'
import { Refusal } from '../platform/http/errors.ts'
import { isLoopbackHost } from '../platform/net/loopback.ts'

export const rootsMax = 200
export const agentsPerRootMax = 10_000

/** A trust root: a source of keys whose agents may order without an API key. */
export type Root = {
  readonly kind: TrustRootKind
  readonly name: string
  readonly keysUrl: string
  readonly mode: Mode
  readonly requireDigest: boolean
  readonly agents: number
  readonly reason: string
  readonly addedAt: Date
}

/** How often an open mandate may be used, and how much with all uses together. */
export type UseLimit = {
  readonly usesMax: number
  readonly budgetUsdCents: bigint | undefined
  /** At most one use in each: of UTC, as PostgreSQL names it. */
  readonly period: 'day' | 'week' | 'month' | 'quarter' | 'year' | undefined
  readonly gapDays: number | undefined
}

export const directoryPath = '/.well-known/http-message-signatures-directory'

/** The media types of a key set, by the kind of its root. */
export const mediaTypesOf = (kind: TrustRootKind): readonly string[] =>
  kind === 'directory'
    ? ['application/http-message-signatures-directory+json']
    : ['application/jwk-set+json', 'application/json']

/** Why keys may not be read from this address; undefined where they may. `loopback`: the service itself is on this machine. */
export const keysUrlFault = (text: string, loopback: boolean): string | undefined => {
  if (!URL.canParse(text)) return 'must be a URL'
  const url = new URL(text)
  const isOwnMachine = loopback && isLoopbackHost(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isOwnMachine))
    return 'must begin with https://'
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    return 'must have no user name, password or fragment'
  return undefined
}

/** A signature is valid for at most this time, whoever signs: Visa and Mastercard both say 8 minutes. */
export const signatureSecondsMax = 480
/** How far the clock of a signer may be ahead. */
export const signatureSkewSeconds = 30
export const mandateSkewSeconds = 60
export const closedMandateSeconds = 300
export const quoteSeconds = 600
export const orderTokenSeconds = 86_400
/** An open mandate is remembered until it expires, so it must expire. */
export const mandateDaysMax = 400

/** A rule of signatures that a request breaks. */
export const signatureFault = (code: string, message: string): Refusal =>
  new Refusal('agent_signature_invalid', {
    message: `The signature of this request was refused: ${message}.`,
    details: [{ path: 'header.Signature-Input', code, message }],
  })

/** A rule of mandates that does not hold. */
export const mandateFault = (path: string, code: string, message: string): Refusal =>
  new Refusal('mandate_invalid', {
    message: `The mandates were refused: ${message}.`,
    details: [{ path: `body.ap2.${path}`, code, message }],
  })

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
export const digestOf = (text: string): string => sha256(text).toString('base64url')

/** What a nonce is remembered by: nonces are scoped to the root and the key. */
export const nonceHash = (root: Root, thumbprint: string, nonce: string): Buffer =>
  sha256(JSON.stringify([root.kind, root.name, thumbprint, nonce]))
