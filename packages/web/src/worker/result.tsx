import { useState } from 'preact/hooks'
import { dateTimeText, qualityLevel, starsText, usdText } from './format.ts'
import { statusTone, payableStars } from './status.ts'
import type { Assignment, AssignmentSummary } from './wire.ts'
import { toApiError, serverNow, type ApiError } from '../shared/person/api.ts'
import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import { hrefOf, Title, ErrorNote } from '../shared/person/parts.tsx'
import { textOf } from '../shared/person/messages.ts'
import { call } from './api.ts'
import type { PageContext, Messages } from './messages.ts'

type ResultText = { readonly title: string; readonly lead: string }

/** A claimed unit of an order that was stopped: the person did not return it. */
const wasWithdrawn = ({ status, reasons }: Assignment): boolean =>
  status === 'returned' && reasons.includes('payment_taken_back')

const resultTextOf = ({ result }: Messages, assignment: Assignment, stars: string): ResultText => {
  const table: Readonly<Record<Assignment['status'], ResultText>> = {
    claimed: { title: '', lead: '' },
    delivered: { title: result.delivered, lead: result.deliveredLead },
    accepted: { title: result.accepted, lead: result.acceptedLead },
    rejected: { title: result.rejected, lead: result.rejectedLead },
    appealed: { title: result.appealed, lead: result.appealedLead },
    refused: { title: result.refused, lead: result.refusedLead },
    not_verified: { title: result.notVerified, lead: result.notVerifiedLead },
    returned: { title: result.returned, lead: result.returnedLead },
    ran_out: { title: result.ranOut, lead: result.ranOutLead },
  }
  const { title, lead } = wasWithdrawn(assignment)
    ? { title: result.withdrawn, lead: result.withdrawnLead }
    : table[assignment.status]
  return { title: fillPlaceholders(title, { stars }), lead: fillPlaceholders(lead, { stars }) }
}
const signs = { ok: 'ok', warn: 'warn', stop: 'stop', '': 'none' } as const
const signOf = (assignment: Assignment) =>
  assignment.status === 'delivered' ? 'ok' : signs[statusTone(assignment.status)]

const Reasons = ({ messages, reasons }: { messages: Messages; reasons: readonly string[] }) =>
  reasons.length === 0 ? null : (
    <section class="card pad stack" aria-labelledby="why">
      <h2 class="h3" id="why">
        {messages.result.why}
      </h2>
      <ul class="plain">
        {reasons.map((code) => (
          <li key={code}>
            {textOf(messages.reasons, code) ?? fillPlaceholders(messages.reasonElse, { code })}
          </li>
        ))}
      </ul>
    </section>
  )

const Facts = ({ page: { messages, locale }, assignment }: { page: PageContext; assignment: Assignment }) => {
  const { quality, deliveredAt, mode, status } = assignment
  const pay = payableStars(assignment)
  return (
    <dl class="card pad facts">
      <div>
        <dt>{messages.result.paid}</dt>
        <dd class="num">
          {starsText(messages, pay)}
          {mode === 'live' ? ` · ${usdText(pay, locale)}` : ''}{' '}
          <span class={`chip ${statusTone(status)}`}>{messages.status[status]}</span>
        </dd>
      </div>
      {quality === null ? null : (
        <div>
          <dt>{messages.result.quality}</dt>
          <dd class={`num meter ${qualityLevel(quality)}`}>
            <span class="track" style={{ '--v': `${Math.round(quality * 100)}%` }} aria-hidden="true" />
            {fillPlaceholders(messages.result.qualityOf, {
              n: quality.toLocaleString(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
            })}
            , {messages.result.qualityWords[qualityLevel(quality)]}
          </dd>
        </div>
      )}
      <div>
        <dt>{deliveredAt === null ? messages.result.claimed : messages.result.handedIn}</dt>
        <dd class="num">{dateTimeText(deliveredAt ?? assignment.claimedAt, locale)}</dd>
      </div>
    </dl>
  )
}

const valueText = ({ result }: Messages, value: unknown): string => {
  if (value === undefined || value === null) return result.empty
  if (typeof value === 'boolean') return value ? result.yes : result.no
  if (Array.isArray(value)) return value.map(String).join(', ')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)
}

const YourAnswer = ({ messages, assignment }: { messages: Messages; assignment: Assignment }) => {
  const answer = assignment.answer as Readonly<Record<string, unknown>> | null
  if (answer === null || typeof answer !== 'object') return null
  return (
    <details class="card fold" open={assignment.status === 'rejected'}>
      <summary>{messages.result.yourAnswer}</summary>
      <dl class="said-list">
        {assignment.answerForm.map((field) => (
          <div key={field.name}>
            <dt class="small muted">{field.label}</dt>
            <dd class="text">{valueText(messages, answer[field.name])}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

const Rejection = ({
  messages,
  assignment: { rejection },
}: {
  messages: Messages
  assignment: Assignment
}) =>
  rejection === null ? null : (
    <section class="card pad stack" aria-labelledby="reason">
      <h2 class="small muted" id="reason">
        {messages.result.buyerReason}
      </h2>
      <p>
        <b>{messages.rejectReasons[rejection.reason]}</b>
      </p>
      {rejection.note === null ? null : (
        <>
          <h3 class="small muted">{messages.result.note}</h3>
          <p class="text">{rejection.note}</p>
        </>
      )}
    </section>
  )

const AppealText = (props: {
  messages: Messages
  text: string
  isEmpty: boolean
  onText: (text: string) => void
}) => (
  <>
    <label for="appeal">{props.messages.result.appealLabel}</label>
    <textarea
      id="appeal"
      rows={5}
      maxLength={2_000}
      value={props.text}
      aria-invalid={props.isEmpty}
      aria-describedby={props.isEmpty ? 'appeal-empty' : undefined}
      onInput={(event) => props.onText(event.currentTarget.value)}
    />
    {props.isEmpty ? (
      <p class="bad" id="appeal-empty" role="alert">
        {props.messages.result.appealEmpty}
      </p>
    ) : null}
  </>
)

type ResultProps = {
  readonly page: PageContext
  readonly assignment: Assignment
  readonly onAgain: () => void
}

const AppealForm = ({ page: { messages, locale }, assignment, onAgain }: ResultProps) => {
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [empty, setEmpty] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const { appealUntil } = assignment
  if (appealUntil === null || Date.parse(appealUntil) <= serverNow())
    return <p class="muted">{messages.result.appealOver}</p>
  const send = async (event: Event) => {
    event.preventDefault()
    setEmpty(text.trim() === '')
    if (text.trim() === '') return
    setBusy(true)
    setFailed(undefined)
    try {
      const path = `assignments/${encodeURIComponent(assignment.assignmentId)}/appeal`
      await call<AssignmentSummary>('POST', path, { text: text.trim() })
      onAgain()
    } catch (error) {
      setFailed(toApiError(error))
      setBusy(false)
    }
  }
  return (
    <form class="card pad stack" onSubmit={(event) => void send(event)} noValidate>
      <h2 class="h3">{messages.result.appealTitle}</h2>
      <p class="muted">
        {fillPlaceholders(messages.result.appealLead, { until: dateTimeText(appealUntil, locale) })}
      </p>
      <AppealText
        messages={messages}
        text={text}
        isEmpty={empty}
        onText={(next) => {
          setText(next)
          setEmpty(false)
        }}
      />
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
      <button class="btn main wide" type="submit" disabled={busy}>
        {messages.result.appealSend}
      </button>
    </form>
  )
}

const Appeal = ({ messages, assignment: { appeal } }: { messages: Messages; assignment: Assignment }) =>
  appeal === null ? null : (
    <section class="card pad stack" aria-labelledby="appealed">
      <h2 class="h3" id="appealed">
        {messages.result.appealTitle}
      </h2>
      <h3 class="small muted">{messages.result.yourAppeal}</h3>
      <p class="text">{appeal.text}</p>
      {appeal.decision === null ? null : (
        <>
          <h3 class="small muted">{messages.result.decision}</h3>
          <p>
            <b>{messages.result.decisions[appeal.decision]}</b>
          </p>
          {appeal.decisionReason === null ? null : <p class="text">{appeal.decisionReason}</p>}
        </>
      )}
    </section>
  )

/** What became of a unit: in one sentence, then why, then what next. */
export const Result = ({ page, assignment, onAgain }: ResultProps) => {
  const { messages } = page
  const { status } = assignment
  const said = resultTextOf(messages, assignment, starsText(messages, assignment.rewardStars))
  return (
    <>
      <Title text={said.title} sign={signOf(assignment)} />
      <p class="lead">{said.lead}</p>
      <p class="small muted">
        {assignment.title}{' '}
        {assignment.mode === 'test' ? <span class="chip test">{messages.test}</span> : null}
      </p>
      <Rejection messages={messages} assignment={assignment} />
      <Appeal messages={messages} assignment={assignment} />
      {status === 'rejected' ? <AppealForm page={page} assignment={assignment} onAgain={onAgain} /> : null}
      <Reasons messages={messages} reasons={assignment.reasons} />
      <Facts page={page} assignment={assignment} />
      <YourAnswer messages={messages} assignment={assignment} />
      {status === 'not_verified' ? (
        <section class="stack" aria-labelledby="next">
          <h2 class="h3" id="next">
            {messages.result.next}
          </h2>
          <ul class="plain muted">
            {messages.result.nextNotVerified.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </section>
      ) : null}
      <div class={status === 'rejected' ? '' : 'act'}>
        <a class={`btn wide ${status === 'rejected' ? '' : 'main'}`} href={hrefOf('/work')}>
          {messages.result.another}
        </a>
      </div>
    </>
  )
}
