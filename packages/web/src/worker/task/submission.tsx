import { useEffect, useRef, useState } from 'preact/hooks'
import { deleteDraft, saveDraft, type Values } from '../draft.ts'
import type { Assignment } from '../wire.ts'
import { toApiError, type ApiError } from '../../shared/person/api.ts'
import { Title, ErrorNote } from '../../shared/person/parts.tsx'
import { call } from '../api.ts'
import type { Messages } from '../messages.ts'

/** Scoring takes a second or two; a busy service gets a minute before the person is asked. */
const attemptsMax = 40
const retryDelayMs = 1_500
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Retries until the recording has been scored. */
const deliver = async (path: string, body: unknown): Promise<Assignment> => {
  for (let tries = 1; ; tries += 1)
    try {
      return await call<Assignment>('POST', path, body)
    } catch (error) {
      const { code } = toApiError(error)
      if ((code !== 'session_not_ready' && code !== 'rate_limited') || tries >= attemptsMax) throw error
      await pause(code === 'rate_limited' ? 4 * retryDelayMs : retryDelayMs)
    }
}

type SubmissionProps = {
  readonly messages: Messages
  readonly assignmentId: string
  /** A recording that was finished before the page was loaded again. */
  readonly sessionId: string | undefined
  readonly finish: () => Promise<{ readonly sessionId: string }> | undefined
  readonly values: Values
  readonly answer: unknown
  readonly onDone: (next: Assignment) => void
  readonly onAgain: () => void
  /** The recording cannot be finished: another one is needed. */
  readonly onLost: (why: string) => void
}

/** Finishes the recording, then delivers the answer. `step` is the one that runs now. */
const useSubmission = (props: SubmissionProps) => {
  const { messages, assignmentId, values, answer } = props
  const [step, setStep] = useState(0)
  const [failed, setFailed] = useState<ApiError>()
  const sessionId = useRef(props.sessionId)
  const run = async () => {
    setFailed(undefined)
    try {
      if (sessionId.current === undefined) {
        setStep(0)
        sessionId.current = (await props.finish())?.sessionId
        if (sessionId.current === undefined) return props.onLost(messages.failed.failed)
        saveDraft(assignmentId, { values, sessionId: sessionId.current })
      }
      setStep(1)
      const path = `assignments/${encodeURIComponent(assignmentId)}/deliver`
      const next = await deliver(path, { sessionId: sessionId.current, answer })
      setStep(2)
      deleteDraft(assignmentId)
      props.onDone(next)
    } catch (error) {
      const failure = toApiError(error)
      // The unit has changed its state meanwhile: its own page shows the new one.
      if (failure.code === 'order_conflict') {
        deleteDraft(assignmentId)
        props.onAgain()
      }
      if (failure.code === 'validation_failed') {
        saveDraft(assignmentId, { values })
        props.onLost(failure.message)
      }
      setFailed(failure)
    }
  }
  return { step, failed, run }
}

/** Submits an answer: from the end of the recording to the service's result. */
export const Submission = (props: SubmissionProps) => {
  const { messages } = props
  const { step, failed, run } = useSubmission(props)
  useEffect(() => void run(), [])
  return (
    <>
      <Title text={messages.submission.title} />
      <p class="lead">{messages.submission.lead}</p>
      <p class="hidden" role="status">
        {messages.submission.steps[step]}
      </p>
      <ol class="progress">
        {messages.submission.steps.map((text, index) => (
          <li key={text} class={index < step ? 'full' : index === step ? 'now' : ''}>
            {text}
          </li>
        ))}
      </ol>
      {failed ? (
        <>
          {failed.code === 'session_not_ready' ? (
            <p class="note warn" role="alert">
              {messages.submission.slow}
            </p>
          ) : (
            <ErrorNote messages={messages} failed={failed} />
          )}
          <div class="act">
            <button type="button" class="btn main wide" onClick={() => void run()}>
              {messages.submission.again}
            </button>
          </div>
        </>
      ) : null}
    </>
  )
}
