import { useState } from 'preact/hooks'
import { call, failedOf, type Failed } from './api.ts'
import { dateText, momentText, starsText, worthText } from './format.ts'
import { instead, useLoaded } from './use-query.tsx'
import { hrefOf, Title, Trouble, type Page } from './parts.tsx'
import { chipOf, payOf } from './status.ts'
import type { Book, Earnings, Payout, Summary } from './wire.ts'
import { fill, type Words } from './messages.ts'

const PayoutForm = ({
  page: { words },
  book,
  onDone,
}: {
  page: Page
  book: Book
  onDone: (payout: Payout) => void
}) => {
  const [text, setText] = useState(String(book.vestedStars))
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<Failed>()
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
      setFailed(failedOf(error))
    }
    setBusy(false)
  }
  return (
    <form class="stack payout" onSubmit={(event) => void send(event)} noValidate>
      <h3>{words.earnings.payout}</h3>
      <p class="muted small">{words.earnings.payoutLead}</p>
      {failed ? <Trouble words={words} failed={failed} /> : null}
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

const BookCard = ({ page, book, onPayout }: { page: Page; book: Book; onPayout: () => void }) => {
  const { words, locale } = page
  const [asked, setAsked] = useState<Payout>()
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
            <dd class="num muted small">{isTest ? '' : worthText(stars, locale)}</dd>
          </div>
        ))}
      </dl>
      {book.nextVestsAt === null ? null : (
        <p class="muted">{fill(words.earnings.nextVests, { date: dateText(book.nextVestsAt, locale) })}</p>
      )}
      {isTest ? <p class="muted small">{words.earnings.payoutTest}</p> : null}
      {asked ? (
        <p class="note ok" role="status">
          {fill(words.earnings.payoutDone, { id: asked.requestId })}
        </p>
      ) : null}
      {!isTest && !asked && book.vestedStars > 0 ? (
        <PayoutForm
          page={page}
          book={book}
          onDone={(payout) => {
            setAsked(payout)
            onPayout()
          }}
        />
      ) : null}
    </section>
  )
}

const Line = ({ page: { words, locale }, one }: { page: Page; one: Summary }) => (
  <li>
    <a class="row" href={hrefOf(`/work/${encodeURIComponent(one.assignmentId)}`)}>
      <span class="what">
        <b>{one.title}</b>
        <span class="small muted num">{momentText(one.deliveredAt ?? one.claimedAt, locale)}</span>
      </span>
      <span class="sum">
        <span class={`num ${one.status === 'accepted' ? '' : 'muted'}`}>{starsText(words, payOf(one))}</span>
        <span class={`chip ${chipOf(one.status)}`}>{words.status[one.status]}</span>
      </span>
    </a>
  </li>
)

const saidOf = (words: Words, { books, assignments }: Earnings): string => {
  const { earnings: text } = words
  const book = books.find(({ mode }) => mode === 'live') ?? books[0]
  if (!book || (assignments.length === 0 && book.vestedStars + book.vestingStars + book.paidStars === 0))
    return text.none
  if (book.vestedStars > 0) return fill(text.ready, { stars: starsText(words, book.vestedStars) })
  return book.vestingStars > 0
    ? fill(text.readyNone, { stars: starsText(words, book.vestingStars) })
    : text.nothingLeft
}

export const EarningsPage = (page: Page) => {
  const { words } = page
  const loaded = useLoaded(() => call<Earnings>('GET', 'earnings'))
  const other = instead(page, loaded)
  if (other || !loaded.value) return other
  const { books, assignments } = loaded.value
  const said = saidOf(words, loaded.value)
  return (
    <>
      <Title text={said} />
      <p class="lead">{said === words.earnings.none ? words.earnings.noneLead : words.earnings.lead}</p>
      {books.map((book) => (
        <BookCard key={book.mode} page={page} book={book} onPayout={loaded.again} />
      ))}
      <section aria-labelledby="mine">
        <h2 class="h3" id="mine">
          {words.earnings.work}
        </h2>
        {assignments.length === 0 ? <p class="muted gap">{words.earnings.workNone}</p> : null}
        <ul class="rows">
          {assignments.map((one) => (
            <Line key={one.assignmentId} page={page} one={one} />
          ))}
        </ul>
      </section>
    </>
  )
}
