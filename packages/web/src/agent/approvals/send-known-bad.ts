import { ApiCallError, type Api } from '../../shared/api/client.ts'
import type { KeysOfCalls } from '../../shared/api/keys-of-calls.ts'

export type NewKnownBad = {
  readonly type: string
  readonly quorum: number
  readonly action: Readonly<Record<string, unknown>>
  readonly approvers: readonly string[]
  readonly reason: string
  readonly requestId?: string
  readonly title?: string
  readonly summary?: string
}

/** Whether a call had no effect and will have none. */
const isRefused = (error: unknown): boolean =>
  error instanceof ApiCallError &&
  error.status !== undefined &&
  error.status < 500 &&
  error.apiError.code !== 'idempotency_in_progress'

/**
 * With a type that one person decides, everybody gets a request of their own, so that each is measured alone. Where one of
 * the calls fails, sending the same once more does not reach anybody twice.
 */
export const sendKnownBad = async (
  api: Pick<Api, 'call'>,
  keys: KeysOfCalls,
  { quorum, approvers, ...request }: NewKnownBad,
): Promise<void> => {
  const batches = quorum === 1 ? approvers.map((approver) => [approver]) : [approvers]
  for (const each of batches) {
    const body = { ...request, approvers: each }
    const text = JSON.stringify(body)
    try {
      await api.call('POST', '/api/agents/approval-known-bad', body, keys.keyOf(text))
    } catch (error) {
      if (isRefused(error)) keys.forget(text)
      throw error
    }
  }
  keys.forgetAll()
}
