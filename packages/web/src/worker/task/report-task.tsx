import { useState } from 'preact/hooks'
import { deleteDraft } from '../draft.ts'
import type { Assignment, AssignmentSummary } from '../wire.ts'
import { toApiError, type ApiError } from '../../shared/person/api.ts'
import { ErrorNote } from '../../shared/person/parts.tsx'
import { call } from '../api.ts'
import type { Messages } from '../messages.ts'

/** In the order of the list. */
const reportReasons = ['leads_elsewhere', 'asks_personal_data', 'harmful', 'other'] as const
type Reason = (typeof reportReasons)[number]

/** Reports the unit with one press. The choice of a reason before it is optional. */
export const ReportTask = ({
  messages: { task, ...messages },
  assignment,
  onReported,
}: {
  messages: Messages
  assignment: Assignment
  onReported: () => void
}) => {
  const [reason, setReason] = useState<Reason>()
  const [isBusy, setIsBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const report = async () => {
    setIsBusy(true)
    try {
      const path = `assignments/${encodeURIComponent(assignment.assignmentId)}/report`
      await call<AssignmentSummary>('POST', path, reason === undefined ? {} : { reason })
      deleteDraft(assignment.assignmentId)
      onReported()
    } catch (error) {
      setFailed(toApiError(error))
      setIsBusy(false)
    }
  }
  return (
    <section class="stack" aria-labelledby="report">
      <p class="small muted" id="report-why">
        {task.reportWhy}
      </p>
      <label class="small" for="report-reason">
        {task.reportReason}
      </label>
      <p class="actions">
        <select
          id="report-reason"
          value={reason ?? ''}
          onChange={({ currentTarget: { value } }) => setReason(reportReasons.find((one) => one === value))}
        >
          <option value="">–</option>
          {reportReasons.map((one) => (
            <option key={one} value={one}>
              {task.reportReasons[one]}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="btn"
          id="report"
          aria-describedby="report-why"
          disabled={isBusy}
          onClick={() => void report()}
        >
          {task.report}
        </button>
      </p>
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
    </section>
  )
}
