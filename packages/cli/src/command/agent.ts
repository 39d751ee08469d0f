import { UsageError } from './errors.ts'
import { requestJson, requestService } from './requests.ts'

/** The address and key of a command, as options.ts fills them in. */
export type AgentRemote = { readonly url: string; readonly key?: string; readonly json?: boolean }
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
type CallOptions = {
  readonly body?: unknown
  /** Calls with the same key act once. */
  readonly idempotencyKey?: string | undefined
}

export const keyOf = (remote: AgentRemote): string => {
  if (!remote.key)
    throw new UsageError(
      'An API key is needed: --key or POHF_KEY.',
      'Get a free test key with pohf register, or keep the key that you have with pohf login.',
    )
  return remote.key
}

const headersOf = (remote: AgentRemote, idempotencyKey?: string): Record<string, string> => ({
  authorization: `Bearer ${keyOf(remote)}`,
  ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
})

/** Calls the service with the agent's key and returns its answer. */
export const agentCall = async <T>(
  remote: AgentRemote,
  method: Method,
  path: string,
  { body, idempotencyKey }: CallOptions = {},
): Promise<T> =>
  requestJson<T>({ url: remote.url, method, path, headers: headersOf(remote, idempotencyKey), body })

/** The same for an answer that is not JSON. */
export const agentFetch = (remote: AgentRemote, path: string): Promise<Response> =>
  requestService({ url: remote.url, path, headers: headersOf(remote), timeoutMs: 60_000 })
