import { useEffect, useState } from 'preact/hooks'
import { openRecording, type RecordingPage } from '../shared/replay/open.ts'
import { Replay } from '../shared/replay/replay.tsx'
import type { Story } from '../shared/replay/timeline.ts'
import { fill, replayWords } from '../shared/replay/messages.ts'
import { recordingWords, type RecordingWords } from './messages.ts'

export type Language = keyof typeof recordingWords
type Trouble = { readonly title: string; readonly lead: string; readonly link?: string }
type Phase =
  | { readonly name: 'loading' }
  | { readonly name: 'trouble'; readonly trouble: Trouble }
  | { readonly name: 'open'; readonly story: Story }

class Told extends Error {
  readonly trouble: Trouble
  constructor(trouble: Trouble) {
    super(trouble.title)
    this.trouble = trouble
  }
}

/** One page of the recording, or in plain words why not. */
const load = async (words: RecordingWords, sessionId: string, from: number): Promise<RecordingPage> => {
  const path = `/api/members/me/sessions/${encodeURIComponent(sessionId)}/chunks?limit=100&from=${from}`
  const response = await fetch(path).catch(() => undefined)
  if (!response) throw new Told({ title: words.failed, lead: words.offline })
  const json = (await response.json()) as RecordingPage & { message?: string; requestId?: string }
  if (response.ok) return json
  if (response.status === 401)
    throw new Told({ title: words.signIn, lead: words.signInLead, link: words.toSignIn })
  if (response.status === 404) throw new Told({ title: words.unknown, lead: words.unknownLead })
  throw new Told({ title: words.failed, lead: `${json.message ?? ''} (${json.requestId ?? ''})` })
}

const read = async (words: RecordingWords, sessionId: string): Promise<Phase> => {
  try {
    const opened = await openRecording((from) => load(words, sessionId, from))
    return opened
      ? { name: 'open', story: opened.story }
      : { name: 'trouble', trouble: { title: words.gone, lead: words.goneLead } }
  } catch (error) {
    if (error instanceof Told) return { name: 'trouble', trouble: error.trouble }
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

const Opened = ({ story, language }: { story: Story; language: Language }) => {
  const words = recordingWords[language]
  const facts = { seconds: Math.round(story.ms / 1_000), questions: story.questions.length }
  return (
    <>
      <h1>{fill(facts.questions === 0 ? words.heading : words.headingAsked, facts)}</h1>
      <p class="muted">{words.lead}</p>
      <section class="card pad" aria-labelledby="film">
        <h2 class="h3" id="film">
          {words.film}
        </h2>
        <Replay story={story} words={replayWords[language]} />
        {story.lost > 0 && <p class="muted">{fill(words.lost, { n: story.lost })}</p>}
      </section>
      <List title={words.recordedTitle} texts={words.recorded} />
      <List title={words.notRecordedTitle} texts={words.notRecorded} />
    </>
  )
}

/** A person looks at a recording of their own. It is opened here, in their browser. */
export const RecordingView = ({ sessionId, language }: { sessionId: string; language: Language }) => {
  const words = recordingWords[language]
  const [phase, setPhase] = useState<Phase>({ name: 'loading' })
  useEffect(() => {
    void read(words, sessionId).then(setPhase)
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
      {phase.name === 'open' && <Opened story={phase.story} language={language} />}
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
