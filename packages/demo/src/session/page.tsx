import { useEffect, useState } from 'preact/hooks'
import { Replay } from '../../../web/src/shared/replay/replay.tsx'
import type { SessionTimeline } from '../../../web/src/shared/replay/timeline.ts'
import { Audit } from './audit.tsx'
import { openSession, type OpenedSession } from './open.ts'

type Phase =
  | { readonly name: 'loading' }
  | { readonly name: 'failed'; readonly message: string }
  | { readonly name: 'open'; readonly opened: OpenedSession }

const statusTexts: Readonly<Record<string, string>> = {
  closed: 'It was recorded to its end and waits for its score.',
  scored: 'It was scored.',
  sealed: 'It was scored, and a credential was signed for it.',
}

const RecordedFacts = ({ timeline }: { timeline: SessionTimeline }) => (
  <section class="card pad pair" aria-label="What was recorded and what was not">
    <div>
      <h2 class="h3">Recorded</h2>
      <ul>
        <li>whether this page was visible and had the focus</li>
        <li>where the pointer was in the window, and when it pressed</li>
        <li>when keys were pressed, and whether they were Tab, Enter, Space, Escape or arrows</li>
        <li>how far the page scrolled</li>
        <li>when each question was shown and how it was answered</li>
        <li>
          the size of the window
          {timeline.environment ? ` (${timeline.environment.width} × ${timeline.environment.height})` : ''},
          touch points, and whether a program steers the browser
        </li>
      </ul>
    </div>
    <div>
      <h2 class="h3">Not recorded</h2>
      <ul>
        <li>which letter, and anything you typed</li>
        <li>the page’s text, its fields, its address</li>
        <li>other tabs and other sites</li>
        <li>camera, microphone, place</li>
        <li>anything that tells your device from another; no cookie, no storage</li>
      </ul>
      {timeline.lost > 0 && (
        <p class="muted gap">{timeline.lost} movements were dropped because the line was slow.</p>
      )}
    </div>
  </section>
)

export const SessionPage = ({ sessionId }: { sessionId: string }) => {
  const [phase, setPhase] = useState<Phase>({ name: 'loading' })
  useEffect(() => {
    openSession(sessionId).then(
      (opened) => setPhase({ name: 'open', opened }),
      (error: unknown) =>
        setPhase({
          name: 'failed',
          message: error instanceof Error ? error.message : 'It could not be opened.',
        }),
    )
  }, [sessionId])
  return (
    <main class="page session">
      <p class="brand">
        <a href="/">The Corner Gazette</a> <span class="chip test">sample site</span>
      </p>
      {phase.name === 'loading' && (
        <div class="bones">
          <h1 class="hidden">Opening your session</h1>
          <div class="bone tall" />
          <div class="bone" />
        </div>
      )}
      {phase.name === 'failed' && (
        <>
          <h1>This session cannot be shown.</h1>
          <p class="muted gap">{phase.message}</p>
        </>
      )}
      {phase.name === 'open' && (
        <>
          <h1>
            Your session: {(phase.opened.timeline.durationMs / 1_000).toFixed(0)} seconds,{' '}
            {phase.opened.timeline.questions.length} questions.
          </h1>
          <p class="muted gap">
            {statusTexts[phase.opened.session.status] ?? ''} This page shows everything that was kept of it.
          </p>
          <section class="card pad" aria-labelledby="replay">
            <h2 class="h3" id="replay">
              What you did
            </h2>
            <Replay timeline={phase.opened.timeline} />
          </section>
          <RecordedFacts timeline={phase.opened.timeline} />
          <Audit opened={phase.opened} />
        </>
      )}
    </main>
  )
}
