import { useEffect, useState } from 'preact/hooks'
import { AssuranceChip } from '../../shared/design/assurance.tsx'
import { Seal } from '../../shared/design/seal.tsx'
import { serverNow } from '../../shared/person/api.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { hrefOf, Title } from '../../shared/person/parts.tsx'
import { call } from '../api.ts'
import { shortHash, timeText } from '../format.ts'
import type { Messages, PageContext } from '../messages.ts'
import type { Approval, Approvals, ListedApproval } from '../wire.ts'
import { Failure } from './failure.tsx'
import { FieldList, Name } from './fields.tsx'
import { outcomeText, vetoUntil, type OutcomeText } from './outcome-text.ts'
import type { CheckedApproval } from './pending.tsx'
import { useDecision } from './use-decision.ts'

type OutcomeProps = CheckedApproval & { readonly page: PageContext; readonly onChanged: () => void }

const bytesOf = (hash: string): Uint8Array =>
  Uint8Array.from(atob(hash.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))

/** An approval is never green here: nobody but its reader knows the agent that enrolled the people. */
const sealTone = ({ mode }: Approval, { mark }: OutcomeText): string => {
  if (mark !== 'approved') return mark === 'denied' ? 'stop' : 'none'
  return mode === 'test' ? 'test' : 'known'
}
const sealStates = { approved: 'valid', denied: 'revoked', expired: 'expired' } as const

const Over = ({ approval, text }: { approval: Approval; text: OutcomeText }) => (
  <section class="card pad over">
    <span class={`emblem ${sealTone(approval, text)}`}>
      <Seal bytes={bytesOf(approval.envelopeHash)} state={sealStates[text.mark]} />
    </span>
    <div>
      <Title text={text.title} />
      <p class="muted">{text.lead}</p>
    </div>
  </section>
)

const Request = ({ page: { messages }, approval, view }: OutcomeProps) => (
  <section class="card pad" aria-labelledby="request">
    <h2 class="h3" id="request">
      {messages.outcome.request}
    </h2>
    <dl class="facts">
      <div>
        <dt>{messages.outcome.askedBy}</dt>
        <dd>
          <Name text={approval.agentName} />{' '}
          {approval.mode === 'test' ? <span class="chip test">{messages.test}</span> : null}
        </dd>
      </div>
      <div>
        <dt>{messages.outcome.action}</dt>
        <dd>{view.title ?? <span class="id">{view.type}</span>}</dd>
      </div>
      <FieldList messages={messages} fields={view.critical} newPaths={[]} onRead={() => undefined} />
      <div>
        <dt>{messages.hash}</dt>
        <dd>
          <span class="id">{shortHash(approval.envelopeHash)}</span>
        </dd>
      </div>
    </dl>
  </section>
)

const People = ({ messages, approval }: { messages: Messages; approval: Approval }) => {
  const { peopleStates } = messages.outcome
  const n = approval.approvers.filter(({ decision }) => decision === 'approve').length
  const isOpen = approval.status === 'pending'
  return (
    <section class="card pad" aria-labelledby="people">
      <h2 class="h3" id="people">
        {fillPlaceholders(messages.outcome.people, { n, of: approval.envelope.policy.quorum })}
      </h2>
      <ul class="q">
        {approval.approvers.map(({ approver, name, decision }) => (
          <li key={approver}>
            <span>
              <Name text={name} />{' '}
              {approver === approval.approver ? <span class="muted">({messages.you})</span> : null}
            </span>
            {decision === null ? (
              <span class={`chip ${isOpen ? 'warn' : ''}`}>
                {isOpen ? peopleStates.none : peopleStates.over}
              </span>
            ) : (
              <span class={`chip ${decision === 'approve' ? 'ok' : 'stop'}`}>{peopleStates[decision]}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const OwnCredential = ({ messages, own }: { messages: Messages; own: Approval['own'] }) =>
  own?.credentialId === null || own?.credentialId === undefined ? null : (
    <section class="card pad" aria-labelledby="credential">
      <h2 class="h3" id="credential">
        {messages.outcome.credential}
      </h2>
      <dl class="facts">
        {own.assurance === null ? null : (
          <div>
            <dt>{messages.outcome.assurance}</dt>
            <dd>
              <AssuranceChip assurance={own.assurance} text={messages.assurances[own.assurance]} />
            </dd>
          </div>
        )}
        {own.inViewSeconds === null ? null : (
          <div>
            <dt>{messages.outcome.inView}</dt>
            <dd class="num">{fillPlaceholders(messages.outcome.inViewFor, { n: own.inViewSeconds })}</dd>
          </div>
        )}
        <div>
          <dt>{messages.outcome.credentialId}</dt>
          <dd>
            <span class="id">{own.credentialId}</span>
          </dd>
        </div>
      </dl>
    </section>
  )

const OwnWords = ({ messages, own }: { messages: Messages; own: Approval['own'] }) =>
  own?.words === null || own?.words === undefined ? null : (
    <section class="card pad" aria-labelledby="words">
      <h2 class="h3" id="words">
        {messages.outcome.words}
      </h2>
      <blockquote>{own.words}</blockquote>
    </section>
  )

/** An approved action that waits: every approver can still deny it. */
const Veto = ({ page, approval, viewHash, until, onChanged }: OutcomeProps & { readonly until: string }) => {
  const { messages, locale } = page
  const { step, failed, decide } = useDecision({
    approval,
    viewHash,
    finish: () => undefined,
    onDecided: onChanged,
    onSpent: () => undefined,
  })
  return (
    <section class="card pad" aria-label={messages.decide.veto}>
      <p role="status">
        {step === undefined
          ? fillPlaceholders(messages.decide.vetoLead, { time: timeText(until, locale, serverNow()) })
          : messages.decide.steps[step]}
      </p>
      {failed ? <Failure messages={messages} failed={failed} isKept={false} /> : null}
      <p class="gap">
        <button
          type="button"
          class="btn stop"
          disabled={step !== undefined}
          onClick={() => void decide('deny', '', false)}
        >
          {messages.decide.veto}
        </button>
      </p>
    </section>
  )
}

/** The next request that waits, where there is one. */
const Next = ({ page: { messages, locale }, approval }: OutcomeProps) => {
  const [waiting, setWaiting] = useState<readonly ListedApproval[]>([])
  useEffect(() => {
    void call<Approvals>('GET', 'approvals').then(
      (list) => setWaiting(list.waiting.filter(({ approvalId }) => approvalId !== approval.approvalId)),
      () => undefined,
    )
  }, [])
  const [next] = waiting
  if (!next) return null
  const { outcome, list } = messages
  const title = next.title ?? fillPlaceholders(list.unregistered, { type: next.type })
  return (
    <section class="card pad next" aria-label={outcome.nextWaits}>
      <div>
        <b>
          {waiting.length === 1
            ? outcome.nextWaits
            : fillPlaceholders(outcome.nextWaitsMany, { n: waiting.length })}
        </b>
        <p class="muted small">
          {fillPlaceholders(outcome.nextDue, { title, time: timeText(next.decideBy, locale, serverNow()) })}
        </p>
      </div>
      <a class="btn" href={hrefOf(`/approve/${encodeURIComponent(next.approvalId)}`)}>
        {list.open}
      </a>
    </section>
  )
}

/** What became of a request: one sentence, the request, the people, the credential, what waits next. */
export const Outcome = (props: OutcomeProps) => {
  const { page, approval } = props
  const { messages } = page
  const until = vetoUntil(approval)
  return (
    <article>
      <Over approval={approval} text={outcomeText(page, approval)} />
      {until === undefined ? null : <Veto {...props} until={until} />}
      <Request {...props} />
      <People messages={messages} approval={approval} />
      <OwnWords messages={messages} own={approval.own} />
      <OwnCredential messages={messages} own={approval.own} />
      <Next {...props} />
    </article>
  )
}
