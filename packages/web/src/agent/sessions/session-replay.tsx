import { useEffect, useState } from 'preact/hooks'
import { openRecording, type OpenedRecording, type RecordingPage } from '../../shared/replay/open.ts'
import { Replay } from '../../shared/replay/replay.tsx'
import { toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { Skeleton, ErrorNote } from '../../shared/design/components.tsx'
import { pluralize } from '../../shared/design/time.ts'

type Phase =
  | { readonly name: 'opening' }
  | { readonly name: 'failed'; readonly error: ApiError }
  | { readonly name: 'open'; readonly opened: OpenedRecording | undefined }

/** The session behind a unit: opened here with the buyer's key, checked against what was committed to, and replayed. */
export const Session = ({ api, sessionId }: { api: Api; sessionId: string }) => {
  const [phase, setPhase] = useState<Phase>({ name: 'opening' })
  const open = () => {
    setPhase({ name: 'opening' })
    const path = `/api/agents/sessions/${encodeURIComponent(sessionId)}/chunks`
    openRecording((from) => api.call<RecordingPage>('GET', `${path}?from=${from}`)).then(
      (opened) => setPhase({ name: 'open', opened }),
      (error: unknown) => setPhase({ name: 'failed', error: toApiError(error) }),
    )
  }
  useEffect(open, [sessionId])
  if (phase.name === 'opening') return <Skeleton />
  if (phase.name === 'failed') return <ErrorNote error={phase.error} onRetry={open} />
  if (!phase.opened)
    return <p class="muted gap">The recording was deleted: recordings are kept for a limited time.</p>
  const { timeline, recording } = phase.opened
  return (
    <>
      <p class="muted gap">
        {(timeline.durationMs / 1_000).toFixed(0)} seconds, {pluralize(timeline.questions.length, 'question')}
        . All {recording.chunks.length} chunks match the hashes that the service has committed to.
      </p>
      <Replay timeline={timeline} />
    </>
  )
}
