import { useEffect, useState } from 'preact/hooks'
import { openRecording, type RecordingPage } from '../shared/replay/open.ts'
import { Replay } from '../shared/replay/replay.tsx'
import type { SessionTimeline } from '../shared/replay/timeline.ts'
import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import { replayMessages } from '../shared/replay/messages.ts'
import { recordingMessages, type RecordingMessages } from './messages.ts'

export type Language = keyof typeof recordingMessages
type RecordingFailure = { readonly title: string; readonly lead: string; readonly link?: string }
type Phase =
  | { readonly name: 'loading' }
  | { readonly name: 'failed'; readonly failure: RecordingFailure }
  | { readonly name: 'open'; readonly timeline: SessionTimeline }

class RecordingError extends Error {
  readonly failure: RecordingFailure
  constructor(failure: RecordingFailure) {
    super(failure.title)
    this.failure = failure
  }
}

/** One page of the recording, or in plain words why not. */
const loadChunkPage = async (
  messages: RecordingMessages,
  sessionId: string,
  from: number,
): Promise<RecordingPage> => {
  const path = `/api/members/me/sessions/${encodeURIComponent(sessionId)}/chunks?limit=100&from=${from}`
  const response = await fetch(path).catch(() => undefined)
  if (!response) throw new RecordingError({ title: messages.failed, lead: messages.offline })
  const json = (await response.json()) as RecordingPage & { message?: string; requestId?: string }
  if (response.ok) return json
  if (response.status === 401)
    throw new RecordingError({ title: messages.signIn, lead: messages.signInLead, link: messages.toSignIn })
  if (response.status === 404)
    throw new RecordingError({ title: messages.unknown, lead: messages.unknownLead })
  throw new RecordingError({
    title: messages.failed,
    lead: `${json.message ?? ''} (${json.requestId ?? ''})`,
  })
}

const loadRecording = async (messages: RecordingMessages, sessionId: string): Promise<Phase> => {
  try {
    const opened = await openRecording((from) => loadChunkPage(messages, sessionId, from))
    return opened
      ? { name: 'open', timeline: opened.timeline }
      : { name: 'failed', failure: { title: messages.gone, lead: messages.goneLead } }
  } catch (error) {
    if (error instanceof RecordingError) return { name: 'failed', failure: error.failure }
    const lead = error instanceof Error ? error.message : ''
    return { name: 'failed', failure: { title: messages.failed, lead } }
  }
}

const List = ({ title, texts }: { title: string; texts: readonly string[] }) => (
  <section class="card pad">
    <h2 class="h3">{title}</h2>
    <ul class="plain">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  </section>
)

const RecordingDetails = ({ timeline, language }: { timeline: SessionTimeline; language: Language }) => {
  const messages = recordingMessages[language]
  const facts = { seconds: Math.round(timeline.durationMs / 1_000), questions: timeline.questions.length }
  return (
    <>
      <h1>{fillPlaceholders(facts.questions === 0 ? messages.heading : messages.headingAsked, facts)}</h1>
      <p class="muted">{messages.lead}</p>
      <section class="card pad" aria-labelledby="replay">
        <h2 class="h3" id="replay">
          {messages.replay}
        </h2>
        <Replay timeline={timeline} messages={replayMessages[language]} />
        {timeline.lost > 0 && <p class="muted">{fillPlaceholders(messages.lost, { n: timeline.lost })}</p>}
      </section>
      <List title={messages.recordedTitle} texts={messages.recorded} />
      <List title={messages.notRecordedTitle} texts={messages.notRecorded} />
    </>
  )
}

/** A person looks at a recording of their own. It is opened here, in their browser. */
export const RecordingView = ({ sessionId, language }: { sessionId: string; language: Language }) => {
  const messages = recordingMessages[language]
  const [phase, setPhase] = useState<Phase>({ name: 'loading' })
  useEffect(() => {
    void loadRecording(messages, sessionId).then(setPhase)
  }, [messages, sessionId])
  return (
    <main class="page narrow">
      <p class="brand">
        <a href="/">PoHF</a>
      </p>
      {phase.name === 'loading' && (
        <div class="bones">
          <h1 class="hidden">{messages.loading}</h1>
          <div class="bone tall" />
          <div class="bone" />
        </div>
      )}
      {phase.name === 'failed' && (
        <>
          <h1>{phase.failure.title}</h1>
          <p class="muted">{phase.failure.lead}</p>
        </>
      )}
      {phase.name === 'open' && <RecordingDetails timeline={phase.timeline} language={language} />}
      {phase.name !== 'loading' && (
        <p>
          <a href={`/me?lang=${language}`}>
            {(phase.name === 'failed' && phase.failure.link) || messages.back}
          </a>
        </p>
      )}
    </main>
  )
}
