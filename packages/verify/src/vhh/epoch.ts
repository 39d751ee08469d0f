import type { JSONWebKeySet } from 'jose'
import { openJws } from '../jws.ts'
import { keySourceOf } from '../keys.ts'
import { requireIssuer } from '../policy.ts'
import { CredentialRefusal } from '../refusal.ts'
import { inputsRootOf, readInputs } from './inputs.ts'
import { methods } from './method.ts'

const jwsCharsMax = 65_536

export type EpochCheck = {
  readonly name: 'signature' | 'answer' | 'root' | 'counts' | 'value'
  readonly passed: boolean
  readonly note: string
}
export type EpochVerification = {
  readonly ok: boolean
  readonly checks: readonly EpochCheck[]
  /** What is signed; undefined where the signature does not fit. */
  readonly claims?: Readonly<Record<string, unknown>>
}
export type EpochToVerify = {
  /** The epoch as it was published, with its `jws`. */
  readonly epoch: Readonly<Record<string, unknown>>
  /** The published inputs; null where the epoch has none. */
  readonly inputs: unknown
  readonly issuer: string
  readonly jwks: JSONWebKeySet
}

type Claims = Readonly<Record<string, unknown>>

const openEpoch = async ({ epoch, issuer, jwks }: EpochToVerify): Promise<Claims> => {
  requireIssuer({ issuer, jwks })
  const claims = await openJws(
    epoch['jws'],
    {
      typ: 'vhh-epoch+jwt',
      maxChars: jwsCharsMax,
      keys: keySourceOf({ issuer, jwks }),
      purpose: () => 'epoch',
    },
    () => undefined,
  )
  if (claims['iss'] !== issuer)
    throw new CredentialRefusal('wrong_issuer', `Signed for another address than ${issuer}.`)
  return claims
}

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )

/** Whether the answer says what is signed, and nothing else. */
const checkAnswer = (epoch: Claims, claims: Claims): EpochCheck => {
  const { jws: _, ...shown } = epoch
  const { iss: _iss, iat: _iat, ...signed } = claims
  const passed = sortedJson(shown) === sortedJson(signed)
  return {
    name: 'answer',
    passed,
    note: passed ? 'every field of the answer is signed' : 'the answer differs from what is signed',
  }
}

const checkInputs = async (claims: Claims, given: unknown): Promise<EpochCheck[]> => {
  const fail = (name: EpochCheck['name'], note: string): EpochCheck => ({ name, passed: false, note })
  const document = readInputs(given)
  if (typeof document === 'string') return [fail('root', `the inputs cannot be read: ${document}`)]
  const compute = Object.hasOwn(methods, document.method) ? methods[document.method] : undefined
  if (!compute) return [fail('root', `the method ${document.method.slice(0, 32)} is not known here`)]
  if (
    document.code !== claims['code'] ||
    document.epoch !== claims['epoch'] ||
    document.method !== claims['method']
  )
    return [fail('root', 'the inputs belong to another epoch')]
  const root = await inputsRootOf(document)
  const computed = compute(document)
  const value = computed.usdCents === null ? null : computed.usdCents / 100
  const sameCounts = sortedJson(computed.inputs) === sortedJson(claims['inputs'])
  const sameValue = value === claims['value'] && computed.status === claims['status']
  return [
    {
      name: 'root',
      passed: root === claims['inputsRoot'],
      note: `the Merkle root of the inputs is ${root.slice(0, 16)}…`,
    },
    {
      name: 'counts',
      passed: sameCounts,
      note: `${computed.inputs.hours} hours, ${computed.inputs.clusters} clusters, ${computed.inputs.workers} workers`,
    },
    {
      name: 'value',
      passed: sameValue,
      note:
        value === null
          ? 'too few inputs for a value'
          : `${value.toFixed(2)} USD for an hour by ${document.method}`,
    },
  ]
}

/**
 * Checks an epoch without a request: its signature against the keys, and its value by computing it again from its inputs.
 * An epoch without published inputs is checked by its signature alone.
 */
export const verifyEpoch = async (given: EpochToVerify): Promise<EpochVerification> => {
  let claims: Claims
  try {
    claims = await openEpoch(given)
  } catch (error) {
    if (!(error instanceof CredentialRefusal)) throw error
    return { ok: false, checks: [{ name: 'signature', passed: false, note: error.message }] }
  }
  const checks: EpochCheck[] = [
    { name: 'signature', passed: true, note: `fits a key of ${given.issuer} for epochs` },
    checkAnswer(given.epoch, claims),
    ...(given.inputs === null || given.inputs === undefined ? [] : await checkInputs(claims, given.inputs)),
  ]
  // A value whose inputs are withheld cannot be checked.
  if (checks.length === 2 && claims['value'] !== null)
    checks.push({ name: 'value', passed: false, note: 'the inputs of this value were not given' })
  return { ok: checks.every(({ passed }) => passed), checks, claims }
}
