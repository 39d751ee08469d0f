import { startAttendedSession, type AttendedSession } from '@pohf/tag/attend'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Assignment } from '../wire.ts'
import { textOf } from '../../shared/person/messages.ts'
import type { Messages } from '../messages.ts'

export type Progress = { readonly done: number; readonly of: number; readonly hits: number }
type Phase = 'brief' | 'opening' | 'working' | 'submitting'

const noProgress: Progress = { done: 0, of: 2, hits: 0 }

type Hooks = Pick<
  Parameters<typeof startAttendedSession>[0],
  'usesWords' | 'onProgress' | 'onLost' | 'onFailed'
>
type OnFailed = (failure: { readonly code: string }) => void

/** Starts the recording of a unit; the questions come in a dialog over the page. */
const startFor = (assignment: Assignment, messages: Messages, hooks: Hooks): Promise<AttendedSession> =>
  startAttendedSession({
    site: assignment.site,
    kind: 'work',
    challenge: assignment.challenge,
    ...(assignment.workflowId === null ? {} : { workflowId: assignment.workflowId }),
    baseUrl: location.origin,
    texts: { ready: messages.task.ready, thanks: messages.task.thanks, skip: messages.task.skip },
    ...hooks,
  })

/** One session at a time: a start and a stop end the session before, and what that one still brings is ignored. */
const useOneSession = () => {
  const session = useRef<AttendedSession>(undefined)
  /** Rises with each start and each stop. */
  const attempt = useRef(0)
  const stop = () => {
    attempt.current += 1
    session.current?.stop()
    session.current = undefined
  }
  // The page may show something else before the work is handed in, as when the time is over.
  useEffect(() => stop, [])
  const start = (
    open: (onFailed: OnFailed) => Promise<AttendedSession>,
    { onStarted, onFailed }: { readonly onStarted: () => void; readonly onFailed: OnFailed },
  ): void => {
    stop()
    const mine = attempt.current
    const fail: OnFailed = (failure) => {
      if (mine !== attempt.current) return
      session.current = undefined
      onFailed(failure)
    }
    void open(fail).then(
      (running) => {
        if (mine !== attempt.current) return running.stop()
        session.current = running
        onStarted()
      },
      (error: unknown) => fail({ code: (error as { code?: string }).code ?? 'failed' }),
    )
  }
  return { session, start, stop }
}

/** The recording of one unit: it runs while the person works and ends with the submission. */
export const useRecording = (assignment: Assignment, messages: Messages, isFinished: boolean) => {
  const [phase, setPhase] = useState<Phase>(isFinished ? 'submitting' : 'brief')
  const [progress, setProgress] = useState<Progress>(noProgress)
  const [lost, setLost] = useState(false)
  const [ended, setEnded] = useState<string>()
  const [usesWords, setUsesWords] = useState(false)
  /** Submitted before the last question: it is sent by itself after it. */
  const [submitsWhenDone, setSubmitsWhenDone] = useState(false)
  const { session, start, stop } = useOneSession()
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
    const open = (onFailed: OnFailed) =>
      startFor(assignment, messages, {
        usesWords: withWords,
        onProgress: setProgress,
        onLost: setLost,
        onFailed,
      })
    start(open, {
      onStarted: () => setPhase('working'),
      onFailed: ({ code }) => {
        setSubmitsWhenDone(false)
        end(textOf(messages.failed, code) ?? messages.failed.failed)
      },
    })
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
    stop,
  }
}
export type Recording = ReturnType<typeof useRecording>
