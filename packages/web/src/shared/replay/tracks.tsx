import type { Question, Span, SessionTimeline } from './timeline.ts'
import { fillPlaceholders } from '../design/fill-placeholders.ts'
import type { ReplayMessages } from './messages.ts'

const isRight = ({ result }: Question): boolean => result === 'hit'

const spanOf = ({ shownAt, answeredAt }: Question): Span[] =>
  shownAt === null ? [] : [{ from: shownAt, to: answeredAt ?? shownAt + 200 }]

type TrackMarks = {
  readonly spans?: readonly Span[]
  readonly ticks?: readonly number[]
  readonly tone?: string
}
const Track = ({
  name,
  note,
  timeline,
  spans = [],
  ticks = [],
  tone = 'plain',
}: TrackMarks & { name: string; note: string; timeline: SessionTimeline }) => {
  const x = (t: number) => (1_000 * t) / Math.max(1, timeline.durationMs)
  return (
    <div class="track-row">
      <span>{name}</span>
      <svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" class={tone}>
        {spans.map(({ from, to }) => (
          <line class="span" x1={x(from)} x2={Math.max(x(from) + 4, x(to))} y1={8} y2={8} />
        ))}
        {ticks.map((t) => (
          <line class="tick" x1={x(t)} x2={x(t)} y1={1} y2={15} />
        ))}
      </svg>
      <span class="num faint">{note}</span>
    </div>
  )
}

const tracksOf = (
  timeline: SessionTimeline,
  messages: ReplayMessages,
): readonly (TrackMarks & { name: string; note: string })[] => {
  const { tracks: names } = messages
  const share =
    timeline.inView.reduce((sum, { from, to }) => sum + to - from, 0) / Math.max(1, timeline.durationMs)
  const right = timeline.questions.filter(isRight)
  const wrong = timeline.questions.filter((question) => !isRight(question))
  return [
    { name: names.inView, note: `${Math.round(100 * share)} %`, spans: timeline.inView, tone: 'seal' },
    {
      name: names.moving,
      note: fillPlaceholders(messages.runs, { n: timeline.moving.length }),
      spans: timeline.moving,
    },
    {
      name: names.presses,
      note: String(timeline.presses.length),
      ticks: timeline.presses.map((press) => press.t),
    },
    {
      name: names.keys,
      note: fillPlaceholders(messages.timesOnly, { n: timeline.keys.length }),
      ticks: timeline.keys,
    },
    { name: names.scrolling, note: String(timeline.scrolls.length), ticks: timeline.scrolls },
    {
      name: names.questions,
      note: fillPlaceholders(messages.rightOf, { n: right.length, of: timeline.questions.length }),
      spans: right.flatMap(spanOf),
      tone: 'seal',
    },
    ...(wrong.length === 0
      ? []
      : [{ name: names.notRight, note: '', spans: wrong.flatMap(spanOf), tone: 'warn' }]),
  ]
}

/** The session in time: one track for each kind of event, and the questions as a table. */
export const Tracks = ({
  timeline,
  messages,
  t,
}: {
  timeline: SessionTimeline
  messages: ReplayMessages
  t: number
}) => {
  const at = (1_000 * t) / Math.max(1, timeline.durationMs)
  return (
    <>
      <div class="tracks">
        {tracksOf(timeline, messages).map((track) => (
          <Track key={track.name} timeline={timeline} {...track} />
        ))}
        <div class="track-row head" aria-hidden="true">
          <span />
          <svg viewBox="0 0 1000 16" preserveAspectRatio="none">
            <line class="tick" x1={at} x2={at} y1={0} y2={16} />
          </svg>
          <span />
        </div>
      </div>
      {timeline.questions.length > 0 && <QuestionTable questions={timeline.questions} messages={messages} />}
    </>
  )
}

const QuestionTable = ({
  questions,
  messages,
}: {
  questions: readonly Question[]
  messages: ReplayMessages
}) => {
  const ms = (value: number | null): string =>
    value === null ? '–' : Math.round(value).toLocaleString(messages.locale)
  return (
    <table>
      <caption class="hidden">{messages.table}</caption>
      <thead>
        <tr>
          <th scope="col">{messages.question}</th>
          <th scope="col">{messages.answer}</th>
          <th scope="col" class="num">
            {messages.shown}
          </th>
          <th scope="col" class="num">
            {messages.took}
          </th>
        </tr>
      </thead>
      <tbody>
        {questions.map((question) => (
          <tr key={question.n}>
            <td>{question.n}</td>
            <td>{messages.results[question.result]}</td>
            <td class="num">{ms(question.shownAt)}</td>
            <td class="num">{ms(question.reactionMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
