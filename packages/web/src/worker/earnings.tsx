import { useState } from 'preact/hooks'
import { dateText, dateTimeText, durationText, starsText, usdText } from './format.ts'
import { starsPerHour } from './hourly.ts'
import { statusTone, payableStars } from './status.ts'
import type { StarsAccount, Earnings, Payout, AssignmentSummary } from './wire.ts'
import { toApiError, type ApiError } from '../shared/person/api.ts'
import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import { hrefOf, Title, ErrorNote, RefreshFailure } from '../shared/person/parts.tsx'
import { useQuery } from '../shared/person/use-query.tsx'
import { call } from './api.ts'
import { fallbackView } from './fallback.tsx'
import type { PageContext, Messages } from './messages.ts'

/** An amount and an account have one key for all attempts: a request whose answer was lost is not made twice. */
type Draft = { readonly stars: string; readonly account: string; readonly key: string }
const draftOf = (stars: string, account: string): Draft => ({ stars, account, key: crypto.randomUUID() })

type PayoutRequest = { readonly mode: StarsAccount['mode']; readonly stars: number; readonly account: string }
const requestPayout = (request: PayoutRequest, key: string) =>
  call<Payout>('POST', 'payout', request, { 'idempotency-key': key })

/** The service checks the account. Shorter ones are none. */
const accountMin = 8

type FieldProps = {
  readonly id: string
  readonly label: string
  readonly value: string
  /** What is wrong with the value; undefined where nothing is. */
  readonly wrong: string | undefined
  readonly inputMode: 'numeric' | 'text'
  readonly maxLength: number
  readonly onInput: (value: string) => void
}
const PayoutField = ({ id, label, value, wrong, inputMode, maxLength, onInput }: FieldProps) => (
  <>
    <label for={id}>{label}</label>
    <input
      id={id}
      inputMode={inputMode}
      autocomplete="off"
      spellcheck={false}
      maxLength={maxLength}
      value={value}
      aria-invalid={wrong !== undefined}
      aria-describedby={wrong === undefined ? undefined : `wrong-${id}`}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
    {wrong === undefined ? null : (
      <p class="bad" id={`wrong-${id}`} role="alert">
        {wrong}
      </p>
    )}
  </>
)

/** What the person typed, and whether it can be sent. */
const usePayoutDraft = ({ vestedStars }: StarsAccount, messages: Messages) => {
  const [draft, setDraft] = useState(() => draftOf(String(vestedStars), ''))
  const [checked, setChecked] = useState(false)
  const stars = /^[1-9]\d{0,8}$/.test(draft.stars.trim()) ? Number(draft.stars) : undefined
  const fits = stars !== undefined && stars <= vestedStars ? stars : undefined
  const hasAccount = draft.account.trim().length >= accountMin
  return {
    draft,
    stars: fits,
    isComplete: fits !== undefined && hasAccount,
    wrongStars:
      checked && fits === undefined
        ? fillPlaceholders(messages.earnings.payoutWrong, { n: vestedStars })
        : undefined,
    wrongAccount: checked && !hasAccount ? messages.earnings.payoutAccountWrong : undefined,
    check: () => setChecked(true),
    set: (changed: Draft) => {
      setDraft(changed)
      setChecked(false)
    },
  }
}

type FormProps = {
  readonly page: PageContext
  readonly account: StarsAccount
  readonly onDone: (payout: Payout) => void
}
const PayoutForm = ({ page: { messages }, account, onDone }: FormProps) => {
  const { draft, stars, isComplete, wrongStars, wrongAccount, check, set } = usePayoutDraft(account, messages)
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const isInvalid = failed?.details.some(({ path }) => path === 'body.account') ?? false
  const send = async (event: Event) => {
    event.preventDefault()
    check()
    if (!isComplete || stars === undefined) return
    setBusy(true)
    setFailed(undefined)
    try {
      onDone(await requestPayout({ mode: account.mode, stars, account: draft.account }, draft.key))
    } catch (error) {
      setFailed(toApiError(error))
    }
    setBusy(false)
  }
  return (
    <form class="stack payout" onSubmit={(event) => void send(event)} noValidate>
      <h3>{messages.earnings.payout}</h3>
      <p class="muted small">{messages.earnings.payoutLead}</p>
      {failed && !isInvalid ? <ErrorNote messages={messages} failed={failed} /> : null}
      <PayoutField
        id={`stars-${account.mode}`}
        label={messages.earnings.payoutStars}
        value={draft.stars}
        wrong={wrongStars}
        inputMode="numeric"
        maxLength={9}
        onInput={(value) => set(draftOf(value, draft.account))}
      />
      <PayoutField
        id={`account-no-${account.mode}`}
        label={messages.earnings.payoutAccount}
        value={draft.account}
        wrong={isInvalid ? messages.earnings.payoutAccountInvalid : wrongAccount}
        inputMode="text"
        maxLength={100}
        onInput={(value) => {
          set(draftOf(draft.stars, value))
          setFailed(undefined)
        }}
      />
      <p class="muted small">{messages.earnings.payoutAccountLead}</p>
      <button class="btn main wide" type="submit" disabled={busy}>
        {stars === undefined
          ? messages.earnings.payoutButtonEmpty
          : fillPlaceholders(messages.earnings.payoutButton, { stars: starsText(messages, stars) })}
      </button>
    </form>
  )
}

/** The accounts that the person named, by their last characters. */
const NamedAccounts = ({ page: { messages, locale }, accounts }: { page: PageContext } & NamedProps) =>
  accounts.length === 0 ? null : (
    <ul class="muted small">
      {accounts.map(({ end, paidAt }) => (
        <li key={`${end} ${paidAt ?? ''}`}>
          {paidAt === null
            ? fillPlaceholders(messages.earnings.accountNamed, { end })
            : fillPlaceholders(messages.earnings.accountPaid, { end, date: dateText(paidAt, locale) })}
        </li>
      ))}
    </ul>
  )
type NamedProps = Pick<StarsAccount, 'accounts'>

/** What the person earned in an hour, by the length of the recordings of what was accepted. */
const HourlyPay = ({ page: { messages, locale }, account }: { page: PageContext; account: StarsAccount }) => {
  const { measured, mode } = account
  const hourly = measured ? starsPerHour(measured.stars, measured.seconds) : undefined
  if (!measured || hourly === undefined || mode === 'test') return null
  return (
    <p class="muted num">
      {fillPlaceholders(messages.earnings.hourly, {
        usd: usdText(measured.stars, locale),
        time: durationText(messages, measured.seconds * 1_000),
        perHour: fillPlaceholders(messages.perHour, { usd: usdText(hourly, locale) }),
      })}
    </p>
  )
}

type CardProps = {
  readonly page: PageContext
  readonly account: StarsAccount
  readonly onPayout: () => void
}
const StarsAccountCard = ({ page, account, onPayout }: CardProps) => {
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
      <HourlyPay page={page} account={account} />
      {account.nextVestsAt === null ? null : (
        <p class="muted">
          {fillPlaceholders(messages.earnings.nextVests, { date: dateText(account.nextVestsAt, locale) })}
        </p>
      )}
      {isTest ? <p class="muted small">{messages.earnings.payoutTest}</p> : null}
      {payoutRequest ? (
        <p class="note ok" role="status">
          {fillPlaceholders(messages.earnings.payoutDone, {
            id: payoutRequest.requestId,
            end: payoutRequest.accountEnd,
          })}
        </p>
      ) : null}
      <NamedAccounts page={page} accounts={account.accounts} />
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
  if (account.vestedStars > 0)
    return fillPlaceholders(text.ready, { stars: starsText(messages, account.vestedStars) })
  return account.vestingStars > 0
    ? fillPlaceholders(text.readyNone, { stars: starsText(messages, account.vestingStars) })
    : text.nothingLeft
}

/** Somebody who never did test work has nothing to read about test Stars. */
const isAccountUsed = (account: StarsAccount, { assignments }: Earnings): boolean =>
  account.mode === 'live' ||
  account.vestedStars + account.vestingStars > 0 ||
  assignments.some(({ mode }) => mode === 'test')

export const EarningsPage = (page: PageContext) => {
  const { messages } = page
  const loaded = useQuery(() => call<Earnings>('GET', 'earnings'))
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  const { books, assignments } = loaded.value
  const said = earningsHeadline(messages, loaded.value)
  const earnings = loaded.value
  const shown = books.filter((account) => isAccountUsed(account, earnings))
  return (
    <>
      <Title text={said} />
      <RefreshFailure messages={messages} loaded={loaded} />
      <p class="lead">
        {said === messages.earnings.none ? messages.earnings.noneLead : messages.earnings.lead}
      </p>
      {shown.map((account) => (
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
