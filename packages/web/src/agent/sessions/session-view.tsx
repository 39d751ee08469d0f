import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { AssuranceChip } from '../../shared/design/assurance.tsx'
import { Commands, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { formatMilliseconds } from '../../shared/design/duration.ts'
import { Moment } from '../../shared/design/moment.tsx'
import { formatUnit } from '../../shared/plots/scale.ts'
import { lazy } from '../../shared/shell/lazy.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { Session } from '../wire.ts'
import { sessionLabel, sessionText } from './messages.ts'
import { ReasonsCard, ScoreCard } from './score.tsx'

// Large, so it is loaded when somebody asks for the replay.
const Replay = lazy(async () => (await import('./session-replay.tsx')).Session)

const readCommands = (
  origin: string,
  sessionId: string,
): string => `curl -s ${origin}/api/agents/sessions/${sessionId} \\
  -H "Authorization: Bearer $POHF_KEY"`

const stateOf = (session: Session) => ({
  status: session.status as 'open',
  verified: session.verified,
  credentialId: session.credentialId,
})

/** What was counted in a session, as label and value. */
const countedFacts = (session: Session): readonly (readonly [string, string])[] => {
  const { counted } = session
  return [
    ['Kind', `${session.kind}${session.simulated ? ', simulated' : ''}`],
    ...(session.endedAt === null
      ? []
      : ([
          ['Duration', formatMilliseconds(Date.parse(session.endedAt) - Date.parse(session.startedAt))],
        ] as const)),
    ...(counted
      ? ([
          ['In view', formatMilliseconds(counted.visibleMs)],
          ['Questions', `${counted.hits} of ${counted.probes} right`],
          ['Motion', `${counted.motionSeconds.toFixed(1)} s, ${counted.strokes} strokes`],
          ['Keys and presses', `${counted.keys} and ${counted.presses}`],
        ] as const)
      : []),
    ...(session.scoring === null ? [] : ([['Scored by', session.scoring]] as const)),
  ]
}

const SessionFacts = ({ session, now }: { session: Session; now: number }) => {
  const lines = countedFacts(session)
  return (
    <section class="card pad" aria-labelledby="facts">
      <h2 class="h3" id="facts">
        Facts
      </h2>
      <dl class="facts">
        <div>
          <dt>Session</dt>
          <dd>
            <CopyId value={session.sessionId} label="session" />
          </dd>
        </div>
        {lines.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="num">{value}</dd>
          </div>
        ))}
        <div>
          <dt>Began, UTC</dt>
          <dd>
            <Moment at={session.startedAt} now={now} />
          </dd>
        </div>
        {session.endedAt === null ? null : (
          <div>
            <dt>Ended, UTC</dt>
            <dd>
              <Moment at={session.endedAt} now={now} />
            </dd>
          </div>
        )}
        {session.credentialId === null ? null : (
          <div>
            <dt>Credential</dt>
            <dd>
              <a href={hrefOf(['credentials'], { credential: session.credentialId })}>Open its credential</a>
            </dd>
          </div>
        )}
      </dl>
    </section>
  )
}

const ReplayCard = ({ api, session }: { api: Api; session: Session }) => {
  const [isWanted, setIsWanted] = useState(false)
  if (session.telemetry === null || session.simulated) return null
  return (
    <section class="card pad" aria-labelledby="replay">
      <h2 class="h3" id="replay">
        Replay
      </h2>
      {isWanted ? (
        <Replay api={api} sessionId={session.sessionId} />
      ) : (
        <>
          <p class="muted gap">
            The recording has pointer positions and the times of key presses, but not which keys. Your browser
            checks it first.
          </p>
          <p class="gap">
            <button type="button" class="btn main" onClick={() => setIsWanted(true)}>
              Replay the session
            </button>
          </p>
        </>
      )}
    </section>
  )
}

const SessionDetails = ({ api, session }: { api: Api; session: Session }) => {
  const [word, tone] = sessionLabel(stateOf(session))
  return (
    <>
      <h1>
        {session.quality === null
          ? `This session is ${word}`
          : `Quality ${formatUnit(session.quality)}, ${word}`}
      </h1>
      <p class="lead muted">
        <span class={`chip ${tone}`}>{word}</span>{' '}
        {session.assurance !== null && session.verified ? (
          <AssuranceChip assurance={session.assurance} />
        ) : null}{' '}
        {sessionText(stateOf(session))}
      </p>
      <div class="cols">
        <div class="stack">
          <ScoreCard session={session} />
          <ReplayCard api={api} session={session} />
        </div>
        <div class="stack">
          <ReasonsCard session={session} />
          <SessionFacts session={session} now={Date.now()} />
          <section class="card pad" aria-labelledby="read-command">
            <h2 class="h3" id="read-command">
              The same by the API
            </h2>
            <Commands
              text={readCommands(location.origin, session.sessionId)}
              label="Command that reads the session"
            />
          </section>
        </div>
      </div>
    </>
  )
}

/** One session: its score part by part, and its recording. */
export const SessionView = ({ api, sessionId }: { api: Api; sessionId: string }) => {
  const address = `/api/agents/sessions/${encodeURIComponent(sessionId)}`
  const loaded = useQuery(() => api.call<Session>('GET', address), address)
  return (
    <>
      <p class="small">
        <a href="#/sessions">All sessions</a>
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {loaded.value ? <SessionDetails api={api} session={loaded.value} /> : <h1>Session</h1>}
      {!loaded.value && loaded.slow ? <Skeleton /> : null}
    </>
  )
}
