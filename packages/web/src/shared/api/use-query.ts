import { useEffect, useRef, useState } from 'preact/hooks'
import { toApiError, type ApiError } from './client.ts'

export type QueryState<T> = {
  /** The last answer; it stays while a newer one is fetched. */
  readonly value: T | undefined
  readonly error: ApiError | undefined
  /** Nothing has come for 300 ms: time to show that something is awaited. */
  readonly slow: boolean
  readonly refetch: () => void
}

/**
 * Fetches, and fetches again every few seconds while the page is visible, unless an answer is still on its way: on a slow
 * line each refresh would discard the answer before it, and the page would never show one. `key` names what is asked for:
 * with a new key the last answer is no longer shown. The present time belongs in `fetchIt`, not in `key`.
 */
export const useQuery = <T>(fetchIt: () => Promise<T>, key: string, refreshMs = 4_000): QueryState<T> => {
  const [state, setState] = useState<{ key: string; value?: T; error?: ApiError; slow: boolean }>({
    key,
    slow: false,
  })
  const run = useRef(0)
  const isLoading = useRef(false)
  const load = () => {
    run.current += 1
    isLoading.current = true
    const mine = run.current
    const timer = setTimeout(() => {
      if (mine === run.current) setState((now) => (now.value === undefined ? { ...now, slow: true } : now))
    }, 300)
    void fetchIt()
      .then(
        (value) => mine === run.current && setState({ key, value, slow: false }),
        (error: unknown) =>
          mine === run.current &&
          setState((now) => ({
            key,
            ...(now.key === key && now.value !== undefined ? { value: now.value } : {}),
            error: toApiError(error),
            slow: false,
          })),
      )
      .finally(() => {
        clearTimeout(timer)
        if (mine === run.current) isLoading.current = false
      })
  }
  // Who asks again after a call may have begun it with another key; that answer would replace the one that is shown now.
  const newest = useRef(load)
  newest.current = load
  useEffect(() => {
    setState({ key, slow: false })
    load()
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !isLoading.current) load()
    }, refreshMs)
    return () => {
      run.current += 1
      clearInterval(timer)
    }
  }, [key])
  const mine = state.key === key ? state : { slow: false }
  return {
    value: 'value' in mine ? mine.value : undefined,
    error: 'error' in mine ? mine.error : undefined,
    slow: mine.slow,
    refetch: () => newest.current(),
  }
}
