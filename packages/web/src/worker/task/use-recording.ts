import { startAttendedSession, type AttendedSession } from '@pohf/tag/attend'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Assignment } from '../wire.ts'
import type { Messages } from '../messages.ts'

export type Progress = { readonly done: number; readonly of: number; readonly hits: number }
type Phase = 'brief' | 'opening' | 'working' | 'submitting'

const noProgress: Progress = { done: 0, of: 2, hits: 0 }

/** Starts the recording of a unit; the questions come in a dialog over the page. */
const startFor = (
  assignment: Assignment,
  messages: Messages,
  hooks: Pick<Parameters<typeof startAttendedSession>[0], 'usesWords' | 'onProgress' | 'onLost' | 'onFailed'>,
): Promise<AttendedSession> =>
  startAttendedSession({
    site: assignment.site,
    kind: 'work',
    challenge: assignment.challenge,
    ...(assignment.workflowId === null ? {} : { workflowId: assignment.workflowId }),
    baseUrl: location.origin,
    texts: { ready: messages.task.ready, thanks: messages.task.thanks, skip: messages.task.skip },
    ...hooks,
  })

/** The recording of one unit: it runs while the person works and ends with the submission. */
export const useRecording = (assignment: Assignment, messages: Messages, isFinished: boolean) => {
  const [phase, setPhase] = useState<Phase>(isFinished ? 'submitting' : 'brief')
  const [progress, setProgress] = useState<Progress>(noProgress)
  const [lost, setLost] = useState(false)
  const [ended, setEnded] = useState<string>()
  const [usesWords, setUsesWords] = useState(false)
  /** Submitted before the last question: it is sent by itself after it. */
  const [submitsWhenDone, setSubmitsWhenDone] = useState(false)
  const session = useRef<AttendedSession>(undefined)
  const isDone = progress.done >= progress.of

  const end = (why: string) => {
    setEnded(why)
    setPhase('brief')
  }
  const begin = (withWords: boolean) => {
    setPhase('opening')
    setEnded(undefined)
    setProgress(noProgress)
    setUsesWords(withWords)
    const onFailed = ({ code }: { code: string }) => {
      session.current = undefined
      setSubmitsWhenDone(false)
      end(messages.failed[code] ?? messages.failed['failed'] ?? '')
    }
    void startFor(assignment, messages, {
      usesWords: withWords,
      onProgress: setProgress,
      onLost: setLost,
      onFailed,
    }).then(
      (running) => {
        session.current = running
        setPhase('working')
      },
      (error: unknown) => onFailed({ code: (error as { code?: string }).code ?? 'failed' }),
    )
  }
  useEffect(() => {
    if (submitsWhenDone && phase === 'working' && isDone) setPhase('submitting')
  }, [submitsWhenDone, phase, isDone])

  return {
    phase,
    progress,
    isDone,
    lost,
    ended,
    usesWords,
    begin,
    end,
    submit: () => (isDone ? setPhase('submitting') : setSubmitsWhenDone(true)),
    switchToWords: () => {
      setUsesWords(true)
      session.current?.switchToWords()
    },
    finish: () => session.current?.finish(),
    stop: () => session.current?.stop(),
  }
}
export type Recording = ReturnType<typeof useRecording>
