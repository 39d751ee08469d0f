import type { Question, Span, SessionTimeline } from './timeline.ts'
import { fill, type ReplayMessages } from './messages.ts'

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
  story,
  spans = [],
  ticks = [],
  tone = 'plain',
}: TrackMarks & { name: string; note: string; story: SessionTimeline }) => {
  const x = (t: number) => (1_000 * t) / Math.max(1, story.durationMs)
  return (
    <div class="lane">
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

/** The session in time: one lane for each thing that was recorded, and the same as a table. */
export const Tracks = ({ story, words, t }: { story: SessionTimeline; words: ReplayMessages; t: number }) => {
  const { lanes: names } = words
  const share = story.inView.reduce((sum, { from, to }) => sum + to - from, 0) / Math.max(1, story.durationMs)
  const right = story.questions.filter(isRight)
  const wrong = story.questions.filter((question) => !isRight(question))
  const lanes: readonly (TrackMarks & { name: string; note: string })[] = [
    { name: names.inView, note: `${Math.round(100 * share)} %`, spans: story.inView, tone: 'seal' },
    { name: names.moving, note: fill(words.runs, { n: story.moving.length }), spans: story.moving },
    { name: names.presses, note: String(story.presses.length), ticks: story.presses.map((press) => press.t) },
    { name: names.keys, note: fill(words.timesOnly, { n: story.keys.length }), ticks: story.keys },
    { name: names.scrolling, note: String(story.scrolls.length), ticks: story.scrolls },
    {
      name: names.questions,
      note: fill(words.rightOf, { n: right.length, of: story.questions.length }),
      spans: right.flatMap(spanOf),
      tone: 'seal',
    },
    ...(wrong.length === 0
      ? []
      : [{ name: names.notRight, note: '', spans: wrong.flatMap(spanOf), tone: 'warn' }]),
  ]
  const at = (1_000 * t) / Math.max(1, story.durationMs)
  return (
    <>
      <div class="lanes">
        {lanes.map((lane) => (
          <Track key={lane.name} story={story} {...lane} />
        ))}
        <div class="lane head" aria-hidden="true">
          <span />
          <svg viewBox="0 0 1000 16" preserveAspectRatio="none">
            <line class="tick" x1={at} x2={at} y1={0} y2={16} />
          </svg>
          <span />
        </div>
      </div>
      {story.questions.length > 0 && <QuestionTable questions={story.questions} words={words} />}
    </>
  )
}

const QuestionTable = ({ questions, words }: { questions: readonly Question[]; words: ReplayMessages }) => {
  const ms = (value: number | null): string =>
    value === null ? '–' : Math.round(value).toLocaleString(words.locale)
  return (
    <table>
      <caption class="hidden">{words.table}</caption>
      <thead>
        <tr>
          <th scope="col">{words.question}</th>
          <th scope="col">{words.answer}</th>
          <th scope="col" class="num">
            {words.shown}
          </th>
          <th scope="col" class="num">
            {words.took}
          </th>
        </tr>
      </thead>
      <tbody>
        {questions.map((question) => (
          <tr key={question.n}>
            <td>{question.n}</td>
            <td>{words.results[question.result]}</td>
            <td class="num">{ms(question.shownAt)}</td>
            <td class="num">{ms(question.reactionMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
