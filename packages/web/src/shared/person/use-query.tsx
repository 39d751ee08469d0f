import { useEffect, useRef, useState, type StateUpdater } from 'preact/hooks'
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

/** What a person may see who is signed out is not shown again by a later failure. */
const failedState = <T,>(now: QueryState<T>, failed: ApiError): QueryState<T> => {
  if (now.failed?.code === 'sign_in_required') return now
  if (failed.code === 'sign_in_required') return { failed, slow: false }
  return { ...now, failed, slow: false }
}

/**
 * Fetches once, and again on request; a later failure keeps the last value. Two requests can be under way on a slow line: the
 * answer of the older one is ignored after that of the newer one.
 */
export const useQuery = <T,>(fetchIt: () => Promise<T>) => {
  const [state, setState] = useState<QueryState<T>>({ slow: false })
  const asked = useRef(0)
  const shown = useRef(0)
  const again = (): void => {
    const mine = (asked.current += 1)
    const show = (next: StateUpdater<QueryState<T>>): void => {
      if (mine < shown.current) return
      shown.current = mine
      setState(next)
    }
    void fetchIt().then(
      (value) => show({ value, slow: false }),
      (error: unknown) => show((now) => failedState(now, toApiError(error))),
    )
  }
  const set = (value: T): void => {
    shown.current = asked.current += 1
    setState({ value, slow: false })
  }
  useEffect(() => {
    const timer = setTimeout(() => setState((now) => ({ ...now, slow: true })), 300)
    again()
    return () => clearTimeout(timer)
  }, [])
  return { ...state, again, set }
}
