import { useEffect, useState } from 'preact/hooks'
import { toApiError, type ApiError } from './api.ts'
import type { PersonMessages } from './messages.ts'

export const Skeleton = ({ messages }: { messages: Pick<PersonMessages, 'loading'> }) => (
  <div class="bones" role="status">
    <span class="hidden">{messages.loading}</span>
    <div class="bone tall" />
    <div class="card pad bones" aria-hidden="true">
      <div class="bone" />
      <div class="bone" />
    </div>
  </div>
)

export type QueryState<T> = { readonly value?: T; readonly failed?: ApiError; readonly slow: boolean }

/** Fetches once, and again on request; a later failure keeps the last value. */
export const useQuery = <T,>(fetchIt: () => Promise<T>) => {
  const [state, setState] = useState<QueryState<T>>({ slow: false })
  const again = (): void => {
    void fetchIt().then(
      (value) => setState({ value, slow: false }),
      (error: unknown) => setState((now) => ({ ...now, failed: toApiError(error), slow: false })),
    )
  }
  useEffect(() => {
    const timer = setTimeout(() => setState((now) => ({ ...now, slow: true })), 300)
    again()
    return () => clearTimeout(timer)
  }, [])
  return { ...state, again, set: (value: T) => setState({ value, slow: false }) }
}
