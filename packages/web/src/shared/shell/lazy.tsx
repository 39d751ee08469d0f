import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { troubleOf, type Trouble } from '../api/client.ts'
import { Bones, TroubleNote } from '../design/components.tsx'

/** A part that few look at: its code is fetched by who does. */
export const later = <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> => {
  const Later = (given: P) => {
    const [state, setState] = useState<{ Part?: ComponentType<P>; trouble?: Trouble }>({})
    const fetchIt = () => {
      setState({})
      load().then(
        (Part) => setState({ Part }),
        (error: unknown) => setState({ trouble: troubleOf(error) }),
      )
    }
    useEffect(fetchIt, [])
    const { Part, trouble } = state
    if (trouble) return <TroubleNote trouble={trouble} onRetry={fetchIt} />
    return Part ? <Part {...given} /> : <Bones />
  }
  return Later
}
