import { useEffect, useRef, useState } from 'preact/hooks'
import { deleteDraft } from '../draft.ts'
import type { Assignment, AssignmentSummary } from '../wire.ts'
import type { ApiError } from '../../shared/person/api.ts'
import { ErrorNote } from '../../shared/person/parts.tsx'
import { call } from '../api.ts'
import type { Messages } from '../messages.ts'

/** Returns the unit, after a question whether the person means it. */
export const ReturnTask = ({
  messages,
  assignment,
  onReturned,
}: {
  messages: Messages
  assignment: Assignment
  onReturned: () => void
}) => {
  const [isConfirming, setIsConfirming] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const question = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (isConfirming) question.current?.focus()
  }, [isConfirming])
  const returnUnit = async () => {
    try {
      await call<AssignmentSummary>(
        'POST',
        `assignments/${encodeURIComponent(assignment.assignmentId)}/return`,
        {},
      )
      deleteDraft(assignment.assignmentId)
      onReturned()
    } catch (error) {
      setFailed(error as ApiError)
    }
  }
  if (!isConfirming)
    return (
      <button type="button" class="btn quiet" onClick={() => setIsConfirming(true)}>
        {messages.task.returnTask}
      </button>
    )
  return (
    <div class="note warn">
      <p ref={question} tabIndex={-1}>
        {messages.task.returnTaskSure}
      </p>
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
      <p class="actions">
        <button type="button" class="btn" onClick={() => void returnUnit()}>
          {messages.task.returnTaskYes}
        </button>
        <button type="button" class="btn" onClick={() => setIsConfirming(false)}>
          {messages.task.returnTaskNo}
        </button>
      </p>
    </div>
  )
}
