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

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const inner of Object.values(value)) freeze(inner)
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
  if (fault) throw new ApprovalUnavailable(`The argument ${fault.path} ${fault.message}.`)
  freeze(copy)
  return copy as Action
}
