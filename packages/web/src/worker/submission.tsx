import { useEffect, useRef, useState } from 'preact/hooks'
import { call, toApiError, type ApiError } from './api.ts'
import { deleteDraft, saveDraft, type Values } from './draft.ts'
import { Title, ErrorNote } from './parts.tsx'
import type { Assignment } from './wire.ts'
import type { Messages } from './messages.ts'

/** Scoring takes a second or two; a busy service is given a minute before the person is asked. */
const attemptsMax = 40
const retryDelayMs = 1_500
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Asks until the recording has been looked at. */
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

/** From the end of the recording to the service's word on it. */
export const Submission = (given: {
  words: Messages
  assignmentId: string
  /** A recording that was finished before the page was loaded again. */
  sessionId: string | undefined
  finish: () => Promise<{ readonly sessionId: string }> | undefined
  values: Values
  answer: unknown
  onDone: (next: Assignment) => void
  onAgain: () => void
  /** The recording cannot be finished: another one is needed. */
  onLost: (why: string) => void
}) => {
  const { words, assignmentId, values, answer } = given
  const [step, setStep] = useState(0)
  const [failed, setFailed] = useState<ApiError>()
  const sessionId = useRef(given.sessionId)
  const run = async () => {
    setFailed(undefined)
    try {
      if (sessionId.current === undefined) {
        setStep(0)
        sessionId.current = (await given.finish())?.sessionId
        if (sessionId.current === undefined) return given.onLost(words.failed['failed'] ?? '')
        saveDraft(assignmentId, { values, sessionId: sessionId.current })
      }
      setStep(1)
      const path = `assignments/${encodeURIComponent(assignmentId)}/deliver`
      const next = await deliver(path, { sessionId: sessionId.current, answer })
      setStep(2)
      deleteDraft(assignmentId)
      given.onDone(next)
    } catch (error) {
      const trouble = toApiError(error)
      // The unit has moved on without us: its own page says where to.
      if (trouble.code === 'order_conflict') {
        deleteDraft(assignmentId)
        given.onAgain()
      }
      if (trouble.code === 'validation_failed') {
        saveDraft(assignmentId, { values })
        given.onLost(trouble.message)
      }
      setFailed(trouble)
    }
  }
  useEffect(() => void run(), [])
  return (
    <>
      <Title text={words.handing.title} />
      <p class="lead">{words.handing.lead}</p>
      <p class="hidden" role="status">
        {words.handing.steps[step]}
      </p>
      <ol class="progress">
        {words.handing.steps.map((text, index) => (
          <li key={text} class={index < step ? 'full' : index === step ? 'now' : ''}>
            {text}
          </li>
        ))}
      </ol>
      {failed ? (
        <>
          {failed.code === 'session_not_ready' ? (
            <p class="note warn" role="alert">
              {words.handing.slow}
            </p>
          ) : (
            <ErrorNote words={words} failed={failed} />
          )}
          <div class="act">
            <button type="button" class="btn main wide" onClick={() => void run()}>
              {words.handing.again}
            </button>
          </div>
        </>
      ) : null}
    </>
  )
}
