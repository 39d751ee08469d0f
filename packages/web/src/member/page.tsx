import { useEffect, useState } from 'preact/hooks'
import { openRecording, type RecordingPage } from '../shared/replay/open.ts'
import { Replay } from '../shared/replay/replay.tsx'
import type { SessionTimeline } from '../shared/replay/timeline.ts'
import { fill, replayMessages } from '../shared/replay/messages.ts'
import { recordingMessages, type RecordingMessages } from './messages.ts'

export type Language = keyof typeof recordingMessages
type RecordingFailure = { readonly title: string; readonly lead: string; readonly link?: string }
type Phase =
  | { readonly name: 'loading' }
  | { readonly name: 'trouble'; readonly trouble: RecordingFailure }
  | { readonly name: 'open'; readonly story: SessionTimeline }

class RecordingError extends Error {
  readonly failure: RecordingFailure
  constructor(trouble: RecordingFailure) {
    super(trouble.title)
    this.failure = trouble
  }
}

/** One page of the recording, or in plain words why not. */
const loadChunkPage = async (
  words: RecordingMessages,
  sessionId: string,
  from: number,
): Promise<RecordingPage> => {
  const path = `/api/members/me/sessions/${encodeURIComponent(sessionId)}/chunks?limit=100&from=${from}`
  const response = await fetch(path).catch(() => undefined)
  if (!response) throw new RecordingError({ title: words.failed, lead: words.offline })
  const json = (await response.json()) as RecordingPage & { message?: string; requestId?: string }
  if (response.ok) return json
  if (response.status === 401)
    throw new RecordingError({ title: words.signIn, lead: words.signInLead, link: words.toSignIn })
  if (response.status === 404) throw new RecordingError({ title: words.unknown, lead: words.unknownLead })
  throw new RecordingError({ title: words.failed, lead: `${json.message ?? ''} (${json.requestId ?? ''})` })
}

const loadRecording = async (words: RecordingMessages, sessionId: string): Promise<Phase> => {
  try {
    const opened = await openRecording((from) => loadChunkPage(words, sessionId, from))
    return opened
      ? { name: 'open', story: opened.timeline }
      : { name: 'trouble', trouble: { title: words.gone, lead: words.goneLead } }
  } catch (error) {
    if (error instanceof RecordingError) return { name: 'trouble', trouble: error.failure }
    const lead = error instanceof Error ? error.message : ''
    return { name: 'trouble', trouble: { title: words.failed, lead } }
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

const RecordingDetails = ({ story, language }: { story: SessionTimeline; language: Language }) => {
  const words = recordingMessages[language]
  const facts = { seconds: Math.round(story.durationMs / 1_000), questions: story.questions.length }
  return (
    <>
      <h1>{fill(facts.questions === 0 ? words.heading : words.headingAsked, facts)}</h1>
      <p class="muted">{words.lead}</p>
      <section class="card pad" aria-labelledby="film">
        <h2 class="h3" id="film">
          {words.film}
        </h2>
        <Replay story={story} words={replayMessages[language]} />
        {story.lost > 0 && <p class="muted">{fill(words.lost, { n: story.lost })}</p>}
      </section>
      <List title={words.recordedTitle} texts={words.recorded} />
      <List title={words.notRecordedTitle} texts={words.notRecorded} />
    </>
  )
}

/** A person looks at a recording of their own. It is opened here, in their browser. */
export const RecordingView = ({ sessionId, language }: { sessionId: string; language: Language }) => {
  const words = recordingMessages[language]
  const [phase, setPhase] = useState<Phase>({ name: 'loading' })
  useEffect(() => {
    void loadRecording(words, sessionId).then(setPhase)
  }, [words, sessionId])
  return (
    <main class="page narrow">
      <p class="brand">
        <a href="/">PoHF</a>
      </p>
      {phase.name === 'loading' && (
        <div class="bones">
          <h1 class="hidden">{words.loading}</h1>
          <div class="bone tall" />
          <div class="bone" />
        </div>
      )}
      {phase.name === 'trouble' && (
        <>
          <h1>{phase.trouble.title}</h1>
          <p class="muted">{phase.trouble.lead}</p>
        </>
      )}
      {phase.name === 'open' && <RecordingDetails story={phase.story} language={language} />}
      {phase.name !== 'loading' && (
        <p>
          <a href={`/me?lang=${language}`}>
            {(phase.name === 'trouble' && phase.trouble.link) || words.back}
          </a>
        </p>
      )}
    </main>
  )
}
