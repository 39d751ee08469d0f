import { jsonFault, type Json } from '@pohf/verify/approvals'
import type { Assurance, Options } from '@pohf/verify'
import type { Client } from '../client.ts'
import { ApprovalUnavailable } from './errors.ts'

export type Action = { readonly [key: string]: Json }

type ApprovalPolicy = NonNullable<Parameters<Client['approvals']['create']>[0]['policy']>

export type GuardOptions = {
  /** Its key asks and consumes. Its address is the issuer whose credentials are accepted. */
  readonly client: Client
  readonly type: string
  /** How many different people must approve. */
  readonly quorum: number
  /** How long people have to decide. */
  readonly timeoutMs: number
  /** The agent that executes, if its key is not the one that asks. Your own, if it is left out. */
  readonly audience?: string | undefined
  readonly minAssurance?: Assurance | undefined
  readonly minQuality?: number | undefined
  readonly minKeyAgeSeconds?: number | undefined
  /** Test approvals prove nothing; without this they are refused. */
  readonly allowTest?: boolean | undefined
  /** Raises the policy of the action type. */
  readonly policy?: Omit<ApprovalPolicy, 'quorum'> | undefined
  /** Your reference of a call: a repeat after a crash finds the same approval. A random one for each call, if it is left out. */
  readonly requestId?: ((action: Action) => string) | undefined
  /** Your own words, which are shown last and as yours. */
  readonly words?: ((action: Action) => { readonly title?: string; readonly summary?: string }) | undefined
  readonly signal?: AbortSignal | undefined
  /** The issuer's keys, if you hold them: then none are fetched. */
  readonly jwks?: Options['jwks']
  /** The issuer as its credentials name it, if the client reaches it at another address. */
  readonly issuer?: string | undefined
} & (
  | { readonly approvers: readonly string[]; readonly group?: undefined }
  /** The members are those that an administrator of the account set, as they are when a call begins. */
  | { readonly group: string; readonly approvers?: undefined }
)

/** The service gives people at most seven days. */
const timeoutMsMax = 7 * 86_400_000 - 60_000

/** Throws a TypeError where the caller is at fault. */
export const requireGuardOptions = (options: GuardOptions): void => {
  const { approvers, group, quorum, timeoutMs } = options
  if ((approvers === undefined) === (group === undefined))
    throw new TypeError('Give approvers or a group, and not both.')
  if (!Number.isSafeInteger(quorum) || quorum < 1) throw new TypeError('quorum must be 1 or more.')
  if (approvers !== undefined && quorum > new Set(approvers).size)
    throw new TypeError('quorum is larger than the number of approvers.')
  if (!(timeoutMs > 0 && timeoutMs <= timeoutMsMax))
    throw new TypeError('timeoutMs must be above 0 and below 7 days.')
}

/** The options as they are now. What `Object.prototype` may have by then, such as an issuer or `allowTest`, is none of them. */
export const settingsOf = (options: GuardOptions): GuardOptions =>
  Object.freeze(Object.assign(Object.create(null) as GuardOptions, options))

/** What lists can do, as it was when this program was loaded. */
const listPrototype = Object.create(null) as object
for (const [name, method] of Object.entries(Object.getOwnPropertyDescriptors(Array.prototype)))
  Object.defineProperty(listPrototype, name, method)
Object.defineProperty(listPrototype, Symbol.iterator, { value: Array.prototype[Symbol.iterator] })
Object.freeze(listPrototype)

/** A frozen copy that has its own properties and no others: nothing that somebody adds to `Object.prototype` is in it. */
const ownOnly = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  const copy = Array.isArray(value)
    ? (Object.setPrototypeOf(value.map(ownOnly), listPrototype) as object)
    : Object.create(
        null,
        Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [key, { value: ownOnly(inner), enumerable: true }]),
        ),
      )
  return Object.freeze(copy)
}

/** The arguments as they are now. Each property is read once, so that what is checked, shown and run is the same. */
export const copyOf = (input: unknown): Action => {
  let copy: unknown
  try {
    copy = structuredClone(input)
  } catch (cause) {
    throw new ApprovalUnavailable('The arguments are no JSON.', undefined, { cause })
  }
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw new ApprovalUnavailable('The arguments of a guarded tool must be one object.')
  const fault = jsonFault(copy)
  if (fault) throw new ApprovalUnavailable(`The argument ${fault.path} ${fault.message} (${fault.code}).`)
  return ownOnly(copy) as Action
}
