import type { Question, Span, Story } from './story.ts'

const results: Readonly<Record<Question['result'], string>> = {
  hit: 'right',
  wrong: 'wrong place',
  early: 'too early',
  late: 'too late',
  unanswered: 'no answer',
}
const ms = (value: number | null): string => (value === null ? '–' : Math.round(value).toLocaleString('en'))
const isRight = ({ result }: Question): boolean => result === 'hit'

const spanOf = ({ shownAt, answeredAt }: Question): Span[] =>
  shownAt === null ? [] : [{ from: shownAt, to: answeredAt ?? shownAt + 200 }]

type Marks = { readonly spans?: readonly Span[]; readonly ticks?: readonly number[]; readonly tone?: string }
const Row = ({
  name,
  note,
  story,
  spans = [],
  ticks = [],
  tone = 'plain',
}: Marks & { name: string; note: string; story: Story }) => {
  const x = (t: number) => (1_000 * t) / Math.max(1, story.ms)
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
export const Timeline = ({ story, t }: { story: Story; t: number }) => {
  const share = story.inView.reduce((sum, { from, to }) => sum + to - from, 0) / Math.max(1, story.ms)
  const lanes: readonly (Marks & { name: string; note: string })[] = [
    { name: 'In view', note: `${Math.round(100 * share)} %`, spans: story.inView, tone: 'seal' },
    { name: 'Moving', note: `${story.moving.length} runs`, spans: story.moving },
    { name: 'Presses', note: String(story.presses.length), ticks: story.presses.map((press) => press.t) },
    { name: 'Keys', note: `${story.keys.length}, times only`, ticks: story.keys },
    { name: 'Scrolling', note: String(story.scrolls.length), ticks: story.scrolls },
    {
      name: 'Questions',
      note: `${story.questions.filter(isRight).length} of ${story.questions.length} right`,
      spans: story.questions.filter(isRight).flatMap(spanOf),
      tone: 'seal',
    },
    ...(story.questions.every(isRight)
      ? []
      : [
          {
            name: 'not right',
            note: '',
            spans: story.questions.filter((question) => !isRight(question)).flatMap(spanOf),
            tone: 'warn',
          },
        ]),
  ]
  return (
    <>
      <div class="lanes">
        {lanes.map((lane) => (
          <Row key={lane.name} story={story} {...lane} />
        ))}
        <div class="lane head" aria-hidden="true">
          <span />
          <svg viewBox="0 0 1000 16" preserveAspectRatio="none">
            <line class="tick" x1={(1_000 * t) / story.ms} x2={(1_000 * t) / story.ms} y1={0} y2={16} />
          </svg>
          <span />
        </div>
      </div>
      {story.questions.length > 0 && (
        <table>
          <caption class="hidden">The questions and how they were answered</caption>
          <thead>
            <tr>
              <th scope="col">Question</th>
              <th scope="col">Answer</th>
              <th scope="col" class="num">
                Shown, ms
              </th>
              <th scope="col" class="num">
                Took, ms
              </th>
            </tr>
          </thead>
          <tbody>
            {story.questions.map((question) => (
              <tr key={question.n}>
                <td>{question.n}</td>
                <td>{results[question.result]}</td>
                <td class="num">{ms(question.shownAt)}</td>
                <td class="num">{ms(question.reactionMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}
