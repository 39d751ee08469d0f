import { useState } from 'preact/hooks'
import { call, toApiError, serverNow, type ApiError } from './api.ts'
import { dateTimeText, qualityLevel, starsText, usdText } from './format.ts'
import { hrefOf, Title, ErrorNote, type PageContext } from './parts.tsx'
import { statusTone, payableStars } from './status.ts'
import type { Assignment, AssignmentSummary } from './wire.ts'
import { fill, type Messages } from './messages.ts'

type ResultText = { readonly title: string; readonly lead: string }

const resultTextOf = ({ result }: Messages, { status }: Assignment, stars: string): ResultText => {
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
  const { title, lead } = table[status]
  return { title: fill(title, { stars }), lead: fill(lead, { stars }) }
}
const signs = { ok: 'ok', warn: 'warn', stop: 'stop', '': 'none' } as const
const signOf = (assignment: Assignment) =>
  assignment.status === 'delivered' ? 'ok' : signs[statusTone(assignment.status)]

const Reasons = ({ words, reasons }: { words: Messages; reasons: readonly string[] }) =>
  reasons.length === 0 ? null : (
    <section class="card pad stack" aria-labelledby="why">
      <h2 class="h3" id="why">
        {words.result.why}
      </h2>
      <ul class="plain">
        {reasons.map((code) => (
          <li key={code}>{words.reasons[code] ?? fill(words.reasonElse, { code })}</li>
        ))}
      </ul>
    </section>
  )

const Facts = ({ page: { words, locale }, assignment }: { page: PageContext; assignment: Assignment }) => {
  const { quality, deliveredAt, mode, status } = assignment
  const pay = payableStars(assignment)
  return (
    <dl class="card pad facts">
      <div>
        <dt>{words.result.paid}</dt>
        <dd class="num">
          {starsText(words, pay)}
          {mode === 'live' ? ` · ${usdText(pay, locale)}` : ''}{' '}
          <span class={`chip ${statusTone(status)}`}>{words.status[status]}</span>
        </dd>
      </div>
      {quality === null ? null : (
        <div>
          <dt>{words.result.quality}</dt>
          <dd class={`num meter ${qualityLevel(quality)}`}>
            <span class="track" style={{ '--v': `${Math.round(quality * 100)}%` }} aria-hidden="true" />
            {fill(words.result.qualityOf, {
              n: quality.toLocaleString(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
            })}
            , {words.result.qualityWords[qualityLevel(quality)]}
          </dd>
        </div>
      )}
      <div>
        <dt>{deliveredAt === null ? words.result.taken : words.result.handedIn}</dt>
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

const YourAnswer = ({ words, assignment }: { words: Messages; assignment: Assignment }) => {
  const answer = assignment.answer as Readonly<Record<string, unknown>> | null
  if (answer === null || typeof answer !== 'object') return null
  return (
    <details class="card fold" open={assignment.status === 'rejected'}>
      <summary>{words.result.yourAnswer}</summary>
      <dl class="said-list">
        {assignment.answerForm.map((field) => (
          <div key={field.name}>
            <dt class="small muted">{field.label}</dt>
            <dd class="text">{valueText(words, answer[field.name])}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

const Rejection = ({ words, assignment: { rejection } }: { words: Messages; assignment: Assignment }) =>
  rejection === null ? null : (
    <section class="card pad stack" aria-labelledby="reason">
      <h2 class="small muted" id="reason">
        {words.result.buyerReason}
      </h2>
      <p>
        <b>{words.rejectReasons[rejection.reason]}</b>
      </p>
      {rejection.note === null ? null : (
        <>
          <h3 class="small muted">{words.result.note}</h3>
          <p class="text">{rejection.note}</p>
        </>
      )}
    </section>
  )

const AppealForm = ({
  page: { words, locale },
  assignment,
  onAgain,
}: {
  page: PageContext
  assignment: Assignment
  onAgain: () => void
}) => {
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [empty, setEmpty] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const { appealUntil } = assignment
  const isRejected = assignment.status === 'rejected'
  if (isRejected && (appealUntil === null || Date.parse(appealUntil) <= serverNow()))
    return <p class="muted">{words.result.appealOver}</p>
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
      <h2 class="h3">{words.result.appealTitle}</h2>
      <p class="muted">
        {appealUntil === null || !isRejected
          ? words.result.appealKnownLead
          : fill(words.result.appealLead, { until: dateTimeText(appealUntil, locale) })}
      </p>
      <label for="appeal">{words.result.appealLabel}</label>
      <textarea
        id="appeal"
        rows={5}
        maxLength={2_000}
        value={text}
        aria-invalid={empty}
        aria-describedby={empty ? 'appeal-empty' : undefined}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setEmpty(false)
        }}
      />
      {empty ? (
        <p class="bad" id="appeal-empty" role="alert">
          {words.result.appealEmpty}
        </p>
      ) : null}
      {failed ? <ErrorNote words={words} failed={failed} /> : null}
      <button class="btn main wide" type="submit" disabled={busy}>
        {words.result.appealSend}
      </button>
    </form>
  )
}

const Appeal = ({ words, assignment: { appeal } }: { words: Messages; assignment: Assignment }) =>
  appeal === null ? null : (
    <section class="card pad stack" aria-labelledby="appealed">
      <h2 class="h3" id="appealed">
        {words.result.appealTitle}
      </h2>
      <h3 class="small muted">{words.result.yourAppeal}</h3>
      <p class="text">{appeal.text}</p>
      {appeal.decision === null ? null : (
        <>
          <h3 class="small muted">{words.result.decision}</h3>
          <p>
            <b>{words.result.decisions[appeal.decision]}</b>
          </p>
          {appeal.decisionReason === null ? null : <p class="text">{appeal.decisionReason}</p>}
        </>
      )}
    </section>
  )

/** Paid, and held against the person: an item whose right answer was known. */
const hasMissedKnownAnswer = ({ status, reasons, appeal }: Assignment): boolean =>
  status === 'accepted' && appeal === null && reasons.includes('known_answer_missed')

/** What became of a unit: in one sentence, then why, then what next. */
export const Result = ({
  page,
  assignment,
  onAgain,
}: {
  page: PageContext
  assignment: Assignment
  onAgain: () => void
}) => {
  const { words } = page
  const { status } = assignment
  const said = resultTextOf(words, assignment, starsText(words, assignment.rewardStars))
  return (
    <>
      <Title text={said.title} sign={signOf(assignment)} />
      <p class="lead">{said.lead}</p>
      <p class="small muted">
        {assignment.title} {assignment.mode === 'test' ? <span class="chip test">{words.test}</span> : null}
      </p>
      <Rejection words={words} assignment={assignment} />
      <Appeal words={words} assignment={assignment} />
      {status === 'rejected' || hasMissedKnownAnswer(assignment) ? (
        <AppealForm page={page} assignment={assignment} onAgain={onAgain} />
      ) : null}
      <Reasons words={words} reasons={assignment.reasons} />
      <Facts page={page} assignment={assignment} />
      <YourAnswer words={words} assignment={assignment} />
      {status === 'not_verified' ? (
        <section class="stack" aria-labelledby="next">
          <h2 class="h3" id="next">
            {words.result.next}
          </h2>
          <ul class="plain muted">
            {words.result.nextNotVerified.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </section>
      ) : null}
      <div class={status === 'rejected' ? '' : 'act'}>
        <a class={`btn wide ${status === 'rejected' ? '' : 'main'}`} href={hrefOf('/work')}>
          {words.result.another}
        </a>
      </div>
    </>
  )
}
