import { useState } from 'preact/hooks'
import { call, toApiError, type ApiError } from './api.ts'
import { dateText, dateTimeText, starsText, usdText } from './format.ts'
import { fallbackView, useQuery } from './use-query.tsx'
import { hrefOf, Title, ErrorNote, type PageContext } from './parts.tsx'
import { statusTone, payableStars } from './status.ts'
import type { StarsAccount, Earnings, Payout, AssignmentSummary } from './wire.ts'
import { fill, type Messages } from './messages.ts'

/** An amount has one key for all attempts: a request whose answer was lost is not made twice. */
const newAmount = (text: string) => ({ text, key: crypto.randomUUID() })

const requestPayout = (mode: StarsAccount['mode'], stars: number, key: string) =>
  call<Payout>('POST', 'payout', { mode, stars }, { 'idempotency-key': key })

const PayoutForm = ({
  page: { messages },
  account,
  onDone,
}: {
  page: PageContext
  account: StarsAccount
  onDone: (payout: Payout) => void
}) => {
  const [{ text, key }, setAmount] = useState(() => newAmount(String(account.vestedStars)))
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const [wrong, setWrong] = useState(false)
  const stars = /^[1-9]\d{0,8}$/.test(text.trim()) ? Number(text) : undefined
  const fits = stars !== undefined && stars <= account.vestedStars
  const send = async (event: Event) => {
    event.preventDefault()
    setWrong(!fits)
    if (!fits) return
    setBusy(true)
    setFailed(undefined)
    try {
      onDone(await requestPayout(account.mode, stars, key))
    } catch (error) {
      setFailed(toApiError(error))
    }
    setBusy(false)
  }
  return (
    <form class="stack payout" onSubmit={(event) => void send(event)} noValidate>
      <h3>{messages.earnings.payout}</h3>
      <p class="muted small">{messages.earnings.payoutLead}</p>
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
      <label for={`stars-${account.mode}`}>{messages.earnings.payoutStars}</label>
      <input
        id={`stars-${account.mode}`}
        inputMode="numeric"
        autocomplete="off"
        maxLength={9}
        value={text}
        aria-invalid={wrong}
        aria-describedby={wrong ? `wrong-${account.mode}` : undefined}
        onInput={(event) => {
          setAmount(newAmount(event.currentTarget.value))
          setWrong(false)
        }}
      />
      {wrong ? (
        <p class="bad" id={`wrong-${account.mode}`} role="alert">
          {fill(messages.earnings.payoutWrong, { n: account.vestedStars })}
        </p>
      ) : null}
      <button class="btn main wide" type="submit" disabled={busy}>
        {fits
          ? fill(messages.earnings.payoutButton, { stars: starsText(messages, stars) })
          : messages.earnings.payoutButtonEmpty}
      </button>
    </form>
  )
}

const StarsAccountCard = ({
  page,
  account,
  onPayout,
}: {
  page: PageContext
  account: StarsAccount
  onPayout: () => void
}) => {
  const { messages, locale } = page
  const [payoutRequest, setPayoutRequest] = useState<Payout>()
  const isTest = account.mode === 'test'
  const rows = [
    ['vested', account.vestedStars],
    ['vesting', account.vestingStars],
    ['held', account.heldStars],
    ['paid', account.paidStars],
  ] as const
  const id = `account-${account.mode}`
  return (
    <section class="card pad stack" aria-labelledby={id}>
      <div class="head">
        <h2 class="h3" id={id}>
          {isTest ? messages.earnings.testTitle : messages.earnings.liveTitle}
        </h2>
        {isTest ? <span class="chip test">{messages.test}</span> : null}
      </div>
      <dl class="balances">
        {rows.map(([name, stars]) => (
          <div key={name} class={name}>
            <dt>{messages.earnings[name]}</dt>
            <dd class="num">{starsText(messages, stars)}</dd>
            <dd class="num muted small">{isTest ? '' : usdText(stars, locale)}</dd>
          </div>
        ))}
      </dl>
      {account.nextVestsAt === null ? null : (
        <p class="muted">
          {fill(messages.earnings.nextVests, { date: dateText(account.nextVestsAt, locale) })}
        </p>
      )}
      {isTest ? <p class="muted small">{messages.earnings.payoutTest}</p> : null}
      {payoutRequest ? (
        <p class="note ok" role="status">
          {fill(messages.earnings.payoutDone, { id: payoutRequest.requestId })}
        </p>
      ) : null}
      {!isTest && !payoutRequest && account.vestedStars > 0 ? (
        <PayoutForm
          page={page}
          account={account}
          onDone={(payout) => {
            setPayoutRequest(payout)
            onPayout()
          }}
        />
      ) : null}
    </section>
  )
}

const EarningsRow = ({ page: { messages, locale }, one }: { page: PageContext; one: AssignmentSummary }) => (
  <li>
    <a class="row" href={hrefOf(`/work/${encodeURIComponent(one.assignmentId)}`)}>
      <span class="what">
        <b>{one.title}</b>
        <span class="small muted num">{dateTimeText(one.deliveredAt ?? one.claimedAt, locale)}</span>
      </span>
      <span class="sum">
        <span class={`num ${one.status === 'accepted' ? '' : 'muted'}`}>
          {starsText(messages, payableStars(one))}
        </span>
        <span class={`chip ${statusTone(one.status)}`}>{messages.status[one.status]}</span>
      </span>
    </a>
  </li>
)

const earningsHeadline = (messages: Messages, { books, assignments }: Earnings): string => {
  const { earnings: text } = messages
  const account = books.find(({ mode }) => mode === 'live') ?? books[0]
  if (
    !account ||
    (assignments.length === 0 && account.vestedStars + account.vestingStars + account.paidStars === 0)
  )
    return text.none
  if (account.vestedStars > 0) return fill(text.ready, { stars: starsText(messages, account.vestedStars) })
  return account.vestingStars > 0
    ? fill(text.readyNone, { stars: starsText(messages, account.vestingStars) })
    : text.nothingLeft
}

export const EarningsPage = (page: PageContext) => {
  const { messages } = page
  const loaded = useQuery(() => call<Earnings>('GET', 'earnings'))
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  const { books, assignments } = loaded.value
  const said = earningsHeadline(messages, loaded.value)
  return (
    <>
      <Title text={said} />
      <p class="lead">
        {said === messages.earnings.none ? messages.earnings.noneLead : messages.earnings.lead}
      </p>
      {books.map((account) => (
        <StarsAccountCard key={account.mode} page={page} account={account} onPayout={loaded.again} />
      ))}
      <section aria-labelledby="mine">
        <h2 class="h3" id="mine">
          {messages.earnings.work}
        </h2>
        {assignments.length === 0 ? <p class="muted gap">{messages.earnings.workNone}</p> : null}
        <ul class="rows">
          {assignments.map((one) => (
            <EarningsRow key={one.assignmentId} page={page} one={one} />
          ))}
        </ul>
      </section>
    </>
  )
}
