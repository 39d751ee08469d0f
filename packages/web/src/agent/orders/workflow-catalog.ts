import type { Workflow } from '@pohf/protocol'
import { useEffect, useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'

/** The offered workflows by id: names and forms that an order itself does not contain. */
export type WorkflowCatalog = ReadonlyMap<string, Workflow>

/** Fetched once. A custom task, or a workflow no longer offered, is shown as it was ordered. */
export const useWorkflowCatalog = (api: Api): WorkflowCatalog => {
  const [offered, setOffered] = useState<WorkflowCatalog>(new Map())
  useEffect(() => {
    api.call<{ workflows: Workflow[] }>('GET', '/api/workflows/available').then(
      ({ workflows }) => setOffered(new Map(workflows.map((workflow) => [workflow.id, workflow]))),
      // Ids are shown instead; other calls report the error.
      () => undefined,
    )
  }, [api])
  return offered
}
export const workflowTitle = (offered: WorkflowCatalog, taskType: string): string =>
  offered.get(taskType)?.title ?? taskType
