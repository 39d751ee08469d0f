import { useState } from 'preact/hooks'
import { deleteDraft } from '../draft.ts'
import type { Assignment, AssignmentSummary } from '../wire.ts'
import { toApiError, type ApiError } from '../../shared/person/api.ts'
import { ErrorNote } from '../../shared/person/parts.tsx'
import { call } from '../api.ts'
import type { Messages } from '../messages.ts'

/** Reports the unit with one press, on the reason. */
export const ReportTask = (props: { messages: Messages; assignment: Assignment; onReported: () => void }) => {
  const { messages, assignment } = props
  const [failed, setFailed] = useState<ApiError>()
  const report = async (reason: string) => {
    try {
      const path = `assignments/${encodeURIComponent(assignment.assignmentId)}/report`
      await call<AssignmentSummary>('POST', path, { reason })
      deleteDraft(assignment.assignmentId)
      props.onReported()
    } catch (error) {
      setFailed(toApiError(error))
    }
  }
  return (
    <section class="stack">
      <h2 class="small muted">{messages.task.report}</h2>
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
      <p class="actions">
        {Object.entries(messages.task.reportReasons).map(([reason, text]) => (
          <button key={reason} type="button" class="btn" onClick={() => void report(reason)}>
            {text}
          </button>
        ))}
      </p>
    </section>
  )
}
