import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { toApiError, type ApiError } from '../api/client.ts'
import { Skeleton, ErrorNote } from '../design/components.tsx'

/** A component whose code is loaded when it is first shown. */
export const lazy = <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> => {
  /** Kept, so that the component is there at once when it is shown again. */
  let loaded: ComponentType<P> | undefined
  const LazyComponent = (props: P) => {
    const [state, setState] = useState<{ Part?: ComponentType<P>; error?: ApiError }>(
      loaded ? { Part: loaded } : {},
    )
    const fetchIt = () => {
      if (loaded) return
      setState({})
      load().then(
        (Part) => {
          loaded = Part
          setState({ Part })
        },
        (error: unknown) => setState({ error: toApiError(error) }),
      )
    }
    useEffect(fetchIt, [])
    const { Part, error } = state
    if (error) return <ErrorNote error={error} onRetry={fetchIt} />
    return Part ? <Part {...props} /> : <Skeleton />
  }
  return LazyComponent
}
