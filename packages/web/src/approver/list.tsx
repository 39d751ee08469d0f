import { useEffect } from 'preact/hooks'
import { serverNow } from '../shared/person/api.ts'
import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import { hrefOf, RefreshFailure, Title } from '../shared/person/parts.tsx'
import { useQuery } from '../shared/person/use-query.tsx'
import { call } from './api.ts'
import { Name } from './approval/fields.tsx'
import { fallbackView, OtherPasskey } from './fallback.tsx'
import { FiguresCard } from './figures.tsx'
import { timeText } from './format.ts'
import type { Messages, PageContext } from './messages.ts'
import type { Approvals, ListedApproval } from './wire.ts'

const refreshMs = 30_000

const pathOf = ({ approvalId }: ListedApproval): string =>
  hrefOf(`/approve/${encodeURIComponent(approvalId)}`)

const TitleOf = ({ messages, listed }: { messages: Messages; listed: ListedApproval }) => (
  <Name text={listed.title ?? fillPlaceholders(messages.list.unregistered, { type: listed.type })} />
)

const WaitingCard = ({
  page: { messages, locale },
  listed,
}: {
  page: PageContext
  listed: ListedApproval
}) => (
  <li class="card pad waits">
    <p class="small muted">
      <Name text={fillPlaceholders(messages.list.from, { agent: listed.agentName })} />{' '}
      {listed.mode === 'test' ? <span class="chip test">{messages.test}</span> : null}
    </p>
    <h2 class="h3">
      <TitleOf messages={messages} listed={listed} />
    </h2>
    <p class="muted num">
      {fillPlaceholders(messages.list.due, { time: timeText(listed.decideBy, locale, serverNow()) })}
    </p>
    <a class="btn main wide" href={pathOf(listed)}>
      {messages.list.open}
    </a>
  </li>
)

const stateOf = (
  { states }: Messages,
  { ownDecision, status }: ListedApproval,
): readonly [string, string] => {
  if (ownDecision === 'approve') return [states.approve, 'ok']
  return ownDecision === 'deny' ? [states.deny, 'stop'] : [states[status], '']
}

const DecidedRow = ({
  page: { messages, locale },
  listed,
}: {
  page: PageContext
  listed: ListedApproval
}) => {
  const [text, tone] = stateOf(messages, listed)
  return (
    <li>
      <a class="row" href={pathOf(listed)}>
        <span class="what">
          <b>
            <TitleOf messages={messages} listed={listed} />
          </b>
          <span class="small muted">
            <Name text={listed.agentName} />, {timeText(listed.createdAt, locale, serverNow())}
          </span>
        </span>
        <span class={`chip ${tone}`}>{text}</span>
      </a>
    </li>
  )
}

const listTitle = ({ list }: Messages, n: number): string =>
  n === 0 ? list.none : n === 1 ? list.waitingOne : fillPlaceholders(list.waiting, { n })

/** What waits for the person, what they decided, and their own figures. */
export const ListPage = (page: PageContext) => {
  const { messages } = page
  const loaded = useQuery(() => call<Approvals>('GET', 'approvals'))
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') loaded.again()
    }, refreshMs)
    return () => clearInterval(timer)
  }, [])
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  const { waiting, hasMore, decided } = loaded.value
  return (
    <article>
      <Title text={listTitle(messages, waiting.length)} />
      <RefreshFailure messages={messages} loaded={loaded} />
      {waiting.length === 0 ? (
        <>
          <p class="muted">{messages.list.noneLead}</p>
          <p class="muted">{messages.list.noneExpected}</p>
          <div class="act">
            <OtherPasskey messages={messages} />
          </div>
        </>
      ) : (
        <ul class="bare">
          {waiting.map((listed) => (
            <WaitingCard key={listed.approvalId} page={page} listed={listed} />
          ))}
        </ul>
      )}
      {hasMore ? <p class="muted">{messages.list.more}</p> : null}
      {decided.length === 0 ? null : (
        <section class="card pad" aria-labelledby="decided">
          <h2 class="h3" id="decided">
            {messages.list.decidedTitle}
          </h2>
          <ul class="bare rows">
            {decided.map((listed) => (
              <DecidedRow key={listed.approvalId} page={page} listed={listed} />
            ))}
          </ul>
        </section>
      )}
      <FiguresCard page={page} />
    </article>
  )
}
