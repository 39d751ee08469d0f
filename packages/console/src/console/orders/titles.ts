import type { Workflow } from '@pohf/protocol'
import { useEffect, useState } from 'preact/hooks'
import type { Api } from '../api.ts'

/** Names of workflows by their ids, fetched once. A custom task, or one no longer offered, is named as it was ordered. */
export const useTitles = (api: Api): ((taskType: string) => string) => {
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map())
  useEffect(() => {
    api.call<{ workflows: Workflow[] }>('GET', '/api/workflows/available').then(
      ({ workflows }) => setTitles(new Map(workflows.map(({ id, title }) => [id, title]))),
      // Ids do as well; what is wrong shows where it matters.
      () => undefined,
    )
  }, [api])
  return (taskType) => titles.get(taskType) ?? taskType
}
