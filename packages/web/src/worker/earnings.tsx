import { useState } from 'preact/hooks'
import { call, toApiError, type ApiError } from './api.ts'
import { dateText, dateTimeText, starsText, usdText } from './format.ts'
import { fallbackView, useQuery } from './use-query.tsx'
import { hrefOf, Title, ErrorNote, type PageContext } from './parts.tsx'
import { statusTone, payableStars } from './status.ts'
import type { StarsAccount, Earnings, Payout, AssignmentSummary } from './wire.ts'
import { fill, type Messages } from './messages.ts'

const PayoutForm = ({
  page: { words },
  book,
  onDone,
}: {
  page: PageContext
  book: StarsAccount
  onDone: (payout: Payout) => void
}) => {
  const [text, setText] = useState(String(book.vestedStars))
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const [wrong, setWrong] = useState(false)
  const stars = /^[1-9]\d{0,8}$/.test(text.trim()) ? Number(text) : undefined
  const fits = stars !== undefined && stars <= book.vestedStars
  const send = async (event: Event) => {
    event.preventDefault()
    setWrong(!fits)
    if (!fits) return
    setBusy(true)
    setFailed(undefined)
    try {
      onDone(await call<Payout>('POST', 'payout', { mode: book.mode, stars }))
    } catch (error) {
      setFailed(toApiError(error))
    }
    setBusy(false)
  }
  return (
    <form class="stack payout" onSubmit={(event) => void send(event)} noValidate>
      <h3>{words.earnings.payout}</h3>
      <p class="muted small">{words.earnings.payoutLead}</p>
      {failed ? <ErrorNote words={words} failed={failed} /> : null}
      <label for={`stars-${book.mode}`}>{words.earnings.payoutStars}</label>
      <input
        id={`stars-${book.mode}`}
        inputMode="numeric"
        autocomplete="off"
        maxLength={9}
        value={text}
        aria-invalid={wrong}
        aria-describedby={wrong ? `wrong-${book.mode}` : undefined}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setWrong(false)
        }}
      />
      {wrong ? (
        <p class="bad" id={`wrong-${book.mode}`} role="alert">
          {fill(words.earnings.payoutWrong, { n: book.vestedStars })}
        </p>
      ) : null}
      <button class="btn main wide" type="submit" disabled={busy}>
        {fits
          ? fill(words.earnings.payoutButton, { stars: starsText(words, stars) })
          : words.earnings.payoutButtonEmpty}
      </button>
    </form>
  )
}

const StarsAccountCard = ({
  page,
  book,
  onPayout,
}: {
  page: PageContext
  book: StarsAccount
  onPayout: () => void
}) => {
  const { words, locale } = page
  const [payoutRequest, setPayoutRequest] = useState<Payout>()
  const isTest = book.mode === 'test'
  const rows = [
    ['vested', book.vestedStars],
    ['vesting', book.vestingStars],
    ['held', book.heldStars],
    ['paid', book.paidStars],
  ] as const
  const id = `book-${book.mode}`
  return (
    <section class="card pad stack" aria-labelledby={id}>
      <div class="head">
        <h2 class="h3" id={id}>
          {isTest ? words.earnings.testTitle : words.earnings.liveTitle}
        </h2>
        {isTest ? <span class="chip test">{words.test}</span> : null}
      </div>
      <dl class="book">
        {rows.map(([name, stars]) => (
          <div key={name} class={name}>
            <dt>{words.earnings[name]}</dt>
            <dd class="num">{starsText(words, stars)}</dd>
            <dd class="num muted small">{isTest ? '' : usdText(stars, locale)}</dd>
          </div>
        ))}
      </dl>
      {book.nextVestsAt === null ? null : (
        <p class="muted">{fill(words.earnings.nextVests, { date: dateText(book.nextVestsAt, locale) })}</p>
      )}
      {isTest ? <p class="muted small">{words.earnings.payoutTest}</p> : null}
      {payoutRequest ? (
        <p class="note ok" role="status">
          {fill(words.earnings.payoutDone, { id: payoutRequest.requestId })}
        </p>
      ) : null}
      {!isTest && !payoutRequest && book.vestedStars > 0 ? (
        <PayoutForm
          page={page}
          book={book}
          onDone={(payout) => {
            setPayoutRequest(payout)
            onPayout()
          }}
        />
      ) : null}
    </section>
  )
}

const EarningsRow = ({ page: { words, locale }, one }: { page: PageContext; one: AssignmentSummary }) => (
  <li>
    <a class="row" href={hrefOf(`/work/${encodeURIComponent(one.assignmentId)}`)}>
      <span class="what">
        <b>{one.title}</b>
        <span class="small muted num">{dateTimeText(one.deliveredAt ?? one.claimedAt, locale)}</span>
      </span>
      <span class="sum">
        <span class={`num ${one.status === 'accepted' ? '' : 'muted'}`}>
          {starsText(words, payableStars(one))}
        </span>
        <span class={`chip ${statusTone(one.status)}`}>{words.status[one.status]}</span>
      </span>
    </a>
  </li>
)

const earningsHeadline = (words: Messages, { books, assignments }: Earnings): string => {
  const { earnings: text } = words
  const book = books.find(({ mode }) => mode === 'live') ?? books[0]
  if (!book || (assignments.length === 0 && book.vestedStars + book.vestingStars + book.paidStars === 0))
    return text.none
  if (book.vestedStars > 0) return fill(text.ready, { stars: starsText(words, book.vestedStars) })
  return book.vestingStars > 0
    ? fill(text.readyNone, { stars: starsText(words, book.vestingStars) })
    : text.nothingLeft
}

export const EarningsPage = (page: PageContext) => {
  const { words } = page
  const loaded = useQuery(() => call<Earnings>('GET', 'earnings'))
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  const { books, assignments } = loaded.value
  const said = earningsHeadline(words, loaded.value)
  return (
    <>
      <Title text={said} />
      <p class="lead">{said === words.earnings.none ? words.earnings.noneLead : words.earnings.lead}</p>
      {books.map((book) => (
        <StarsAccountCard key={book.mode} page={page} book={book} onPayout={loaded.again} />
      ))}
      <section aria-labelledby="mine">
        <h2 class="h3" id="mine">
          {words.earnings.work}
        </h2>
        {assignments.length === 0 ? <p class="muted gap">{words.earnings.workNone}</p> : null}
        <ul class="rows">
          {assignments.map((one) => (
            <EarningsRow key={one.assignmentId} page={page} one={one} />
          ))}
        </ul>
      </section>
    </>
  )
}
