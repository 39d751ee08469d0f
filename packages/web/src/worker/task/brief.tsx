import { minutesText, starsText, usdText } from '../format.ts'
import type { Assignment } from '../wire.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import type { Messages, PageContext } from '../messages.ts'

export const Steps = ({ assignment }: { assignment: Assignment }) => (
  <ol class="plain">
    {assignment.steps.map((step) => (
      <li key={step}>{step}</li>
    ))}
  </ol>
)

export const Instructions = ({ messages, assignment }: { messages: Messages; assignment: Assignment }) =>
  assignment.instructions === null ? null : (
    <section class="card pad" aria-labelledby="buyer">
      <h2 class="small muted" id="buyer">
        {messages.task.buyerSays}
      </h2>
      <p class="text">{assignment.instructions}</p>
    </section>
  )

/** What the person reads before the recording starts. */
export const TaskBrief = ({
  page: { messages, locale },
  assignment,
  busy,
  ended,
  hasDraft,
  onBegin,
}: {
  page: PageContext
  assignment: Assignment
  busy: boolean
  ended: string | undefined
  hasDraft: boolean
  onBegin: (usesWords: boolean) => void
}) => (
  <>
    {ended === undefined ? null : (
      <p class="note warn" role="alert">
        {fillPlaceholders(messages.task.ended, { why: ended })}
      </p>
    )}
    {ended === undefined && hasDraft ? (
      <p class="note ok" role="status">
        {messages.task.restored}
      </p>
    ) : null}
    <p class="lead num">
      {starsText(messages, assignment.rewardStars)}
      {assignment.mode === 'live' ? ` (${usdText(assignment.rewardStars, locale)})` : ''},{' '}
      {minutesText(messages, assignment.estMinutes)}
      {assignment.mode === 'test' ? <span class="chip test">{messages.test}</span> : null}
    </p>
    <section class="card pad stack" aria-labelledby="steps">
      <h2 class="h3" id="steps">
        {messages.task.steps}
      </h2>
      <Steps assignment={assignment} />
    </section>
    <Instructions messages={messages} assignment={assignment} />
    <section class="stack" aria-labelledby="before">
      <h2 class="h3" id="before">
        {messages.task.before}
      </h2>
      <p class="muted">{messages.task.recorded}</p>
      <p class="muted">{messages.task.stay}</p>
      <p class="muted" id="words-why">
        {messages.task.beginWordsWhy}
      </p>
      <button
        type="button"
        class="btn wide"
        disabled={busy}
        aria-describedby="words-why"
        onClick={() => onBegin(true)}
      >
        {messages.task.beginWords}
      </button>
    </section>
  </>
)
