import { startInlineSession, type InlineSession } from '@pohf/tag/inline'
import { useEffect, useRef, useState } from 'preact/hooks'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { textOf } from '../../shared/person/messages.ts'
import type { Messages } from '../messages.ts'
import type { Approval } from '../wire.ts'
import type { Progress } from './rules.ts'

type Phase = 'opening' | 'running' | 'stopped'
const noProgress: Progress = { done: 0, of: 1, hits: 0 }

/** Seconds in which the page was in view and had the focus while `isRunning`. The service measures them by the recording itself. */
const useSecondsInView = (isRunning: boolean): number => {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    setSeconds(0)
    if (!isRunning) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && document.hasFocus()) setSeconds((n) => n + 1)
    }, 1_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return seconds
}

/** The recording of one decision: it starts with the page and ends with the decision. */
export const useRecording = (approval: Approval, messages: Messages, label: string) => {
  const place = useRef<HTMLDivElement>(null)
  const session = useRef<InlineSession>(undefined)
  const [phase, setPhase] = useState<Phase>('opening')
  const [progress, setProgress] = useState(noProgress)
  const [isLost, setLost] = useState(false)
  const [why, setWhy] = useState('')
  const [attempt, setAttempt] = useState(0)
  const seconds = useSecondsInView(phase === 'running')

  useEffect(() => {
    if (!place.current) return
    let isCurrent = true
    setPhase('opening')
    setProgress(noProgress)
    const onFailed = ({ code }: { readonly code: string }) => {
      if (!isCurrent) return
      session.current = undefined
      setWhy(textOf(messages.failed, code) ?? messages.failed.failed)
      setPhase('stopped')
    }
    void startInlineSession({
      site: approval.site,
      kind: 'approval',
      challenge: approval.challenge,
      baseUrl: location.origin,
      place: place.current,
      texts: { ...messages.probe, why: fillPlaceholders(messages.probe.why, { label }) },
      onProgress: (next) => isCurrent && setProgress(next),
      onLost: (lost) => isCurrent && setLost(lost),
      onFailed,
    }).then(
      (running) => {
        if (!isCurrent) return running.stop()
        session.current = running
        setPhase('running')
      },
      (error: unknown) => onFailed({ code: (error as { code?: string }).code ?? 'failed' }),
    )
    return () => {
      isCurrent = false
      session.current?.stop()
      session.current = undefined
    }
  }, [attempt])

  return {
    place,
    phase,
    progress,
    isLost,
    why,
    seconds,
    finish: (): Promise<{ readonly sessionId: string }> | undefined => session.current?.finish(),
    restart: () => setAttempt((n) => n + 1),
    focus: () => session.current?.focus(),
  }
}
export type Recording = ReturnType<typeof useRecording>
