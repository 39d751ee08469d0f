import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { toApiError, type ApiError } from '../api/client.ts'
import { Skeleton, ErrorNote } from '../design/components.tsx'

/** A part that few look at: its code is fetched by who does. */
export const lazy = <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> => {
  const LazyComponent = (given: P) => {
    const [state, setState] = useState<{ Part?: ComponentType<P>; trouble?: ApiError }>({})
    const fetchIt = () => {
      setState({})
      load().then(
        (Part) => setState({ Part }),
        (error: unknown) => setState({ trouble: toApiError(error) }),
      )
    }
    useEffect(fetchIt, [])
    const { Part, trouble } = state
    if (trouble) return <ErrorNote trouble={trouble} onRetry={fetchIt} />
    return Part ? <Part {...given} /> : <Skeleton />
  }
  return LazyComponent
}
