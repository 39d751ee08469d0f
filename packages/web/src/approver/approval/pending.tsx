import { canonicalJson, refusedField, visibleText, type ApprovalView } from '@pohf/verify/approvals'
import { useEffect, useState } from 'preact/hooks'
import { serverNow } from '../../shared/person/api.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { hrefOf, Title } from '../../shared/person/parts.tsx'
import { durationText, initialsOf, shortHash, timeText } from '../format.ts'
import type { Messages, PageContext } from '../messages.ts'
import type { Approval } from '../wire.ts'
import { DecideBar } from './decide-bar.tsx'
import { Failure } from './failure.tsx'
import { FieldList, decisionQuestion, Visible } from './fields.tsx'
import { blockerOf, isLong, secondsMin, type Blocker } from './rules.ts'
import { useDecision } from './use-decision.ts'
import { useRecording, type Recording } from './use-recording.ts'

export type CheckedApproval = {
  readonly approval: Approval
  readonly view: ApprovalView
  readonly viewHash: string
}
type PartProps = CheckedApproval & { readonly page: PageContext }

const Asks = ({ page: { messages }, approval }: PartProps) => {
  const { approvers, envelope } = approval
  const name = approvers.find(({ approver }) => approver === approval.approver)?.name ?? ''
  const n = approvers.length
  const agent = visibleText(approval.agentName)
  return (
    <div class="asks">
      <span class="ini" aria-hidden="true">
        {initialsOf(agent)}
      </span>
      <p>
        <b>
          <Visible shown={agent} />
        </b>
        {fillPlaceholders(messages.asks, { agent: '' })}
        {approval.mode === 'test' ? <span class="chip test">{messages.test}</span> : null}
        <br />
        <span class="muted small">
          {fillPlaceholders(n === 1 ? messages.youAreOnly : messages.youAreOneOf, {
            name: visibleText(name),
            n,
            quorum: envelope.policy.quorum,
          })}
        </span>
      </p>
    </div>
  )
}

/** Until when, by the service's clock; past it the page is loaded again. */
const Until = ({ page, approval, onOver }: PartProps & { onOver: () => void }) => {
  const { messages, locale } = page
  const [now, setNow] = useState(serverNow())
  const dueAt = Date.parse(approval.decideBy)
  const isOver = now >= dueAt
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), 1_000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    if (isOver) onOver()
  }, [isOver])
  const whole = dueAt - Date.parse(approval.createdAt)
  const share = Math.max(0, Math.min(1, (dueAt - now) / Math.max(1, whole)))
  return (
    <p class="until">
      <b>{fillPlaceholders(messages.decideBy, { time: timeText(approval.decideBy, locale, now) })}</b>
      <span class="muted">
        {fillPlaceholders(messages.left, { time: durationText(messages, dueAt - now) })}
      </span>
      <i style={{ '--v': `${Math.round(share * 100)}%` }} aria-hidden="true" />
    </p>
  )
}

const AgentWords = ({ messages, view }: { messages: Messages; view: ApprovalView }) => (
  <>
    {(['title', 'summary'] as const).map((name) => {
      const { text, notes } = view.words[name]
      return (
        <div key={name}>
          <dt>{name === 'title' ? messages.agentTitle : messages.agentWords}</dt>
          <dd>
            {text === '' ? (
              <span class="muted">{messages.noWords}</span>
            ) : (
              <q class="value">
                <Visible shown={text} />
              </q>
            )}
            {notes.map((note) => (
              <small key={note} class="noted">
                {messages.notes[note]}
              </small>
            ))}
          </dd>
        </div>
      )
    })}
  </>
)

/** What the envelope says besides the action: who carries it out, until when, and by which rules. */
const Terms = ({ page: { messages, locale }, view }: PartProps) => {
  const { quorum, delaySeconds, passkey } = view.policy
  const rows: (readonly [string, string])[] = [
    [messages.audience, fillPlaceholders(messages.audienceSame, { id: view.audience })],
    [messages.requestId, view.requestId],
    [messages.until, timeText(view.consumeBy, locale, serverNow())],
    [messages.quorum, quorum === 1 ? messages.quorumOne : fillPlaceholders(messages.quorumOf, { n: quorum })],
    ...(delaySeconds === 0
      ? []
      : ([
          [
            messages.delay,
            fillPlaceholders(messages.delayFor, { time: durationText(messages, delaySeconds * 1_000) }),
          ],
        ] as const)),
    ...(passkey === 'device_bound' ? [[messages.passkey, messages.passkeyDeviceBound] as const] : []),
  ]
  return (
    <>
      {rows.map(([label, text]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            <Visible shown={text} />
          </dd>
        </div>
      ))}
    </>
  )
}

const AllFields = (props: PartProps & { onRead: (path: string) => void }) => {
  const { page, approval, view } = props
  const { messages } = page
  return (
    <section class="card pad all" aria-labelledby="all">
      <h2 class="h3" id="all">
        {messages.allFields}
      </h2>
      <p class="muted small">{messages.allFieldsLead}</p>
      <dl class="facts">
        <div>
          <dt>{messages.type}</dt>
          <dd>
            <span class="id">{view.type}</span>
          </dd>
        </div>
        <FieldList messages={messages} fields={view.fields} newPaths={[]} onRead={props.onRead} />
        <Terms {...props} />
        <AgentWords messages={messages} view={view} />
      </dl>
      <details>
        <summary>{messages.json}</summary>
        <pre tabIndex={0} role="region" aria-label={messages.jsonLabel}>
          <code>
            <Visible shown={visibleText(canonicalJson(approval.envelope as never))} />
          </code>
        </pre>
      </details>
      <p class="faint small">
        {messages.hash} <span class="id">{shortHash(approval.envelopeHash)}</span>. {messages.hashWhy}
      </p>
    </section>
  )
}

const Recorded = ({ messages, recording }: { messages: Messages; recording: Recording }) => (
  <details class="card rec" open>
    <summary>{messages.recorded.title}</summary>
    <ul>
      {messages.recorded.list.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
    <p class="muted small">{messages.recorded.not}</p>
    <a class="quiet muted small" href={`${hrefOf('/approve')}#figures`}>
      {messages.recorded.figures}
    </a>
    {recording.isLost ? (
      <p class="note warn" role="alert">
        {messages.recorded.lost}
      </p>
    ) : null}
  </details>
)

/** A label within a sentence, whose words it does not move. */
const isolated = (label: string): string => `\u2066${label}\u2069`

const Refused = ({ messages, view }: { messages: Messages; view: ApprovalView }) => {
  const field = refusedField(view)
  return field ? (
    <p class="note stop" role="alert">
      {fillPlaceholders(messages.refused, { label: isolated(field.label) })}
    </p>
  ) : null
}

const Notices = ({ page: { messages, locale }, approval, view }: PartProps) => (
  <>
    <Refused messages={messages} view={view} />
    {view.title === null ? <p class="note warn">{messages.unregistered}</p> : null}
    {approval.slowDown ? <p class="note warn">{messages.slowDown}</p> : null}
    {approval.retryAt === null ? null : (
      <p class="note warn">
        {fillPlaceholders(messages.retryAt, { time: timeText(approval.retryAt, locale, serverNow()) })}
      </p>
    )}
  </>
)

const Stopped = ({ messages, recording }: { messages: Messages; recording: Recording }) => (
  <div class="note warn" role="alert">
    <p>{fillPlaceholders(messages.recorded.stopped, { why: recording.why })}</p>
    <p>
      <button type="button" class="btn" onClick={recording.restart}>
        {messages.recorded.restart}
      </button>
    </p>
  </div>
)

const useReading = (view: ApprovalView) => {
  const long = [...view.critical, ...view.fields].filter(isLong)
  const [read, setRead] = useState<readonly string[]>([])
  return {
    unread: long.filter(({ path }) => !read.includes(path)),
    onRead: (path: string) => setRead((known) => (known.includes(path) ? known : [...known, path])),
  }
}

const showLongValue = (path: string): void => {
  const box = document.getElementById(`long${path}`)
  box?.scrollIntoView({ block: 'center' })
  box?.focus({ preventScroll: true })
}

/** One request that waits for this person: what it is, what matters, every field, the decision. */
export const PendingApproval = (props: PartProps & { readonly onChanged: () => void }) => {
  const { page, approval, view, viewHash } = props
  const { messages } = page
  const label = isolated(view.critical[0]?.label ?? view.type)
  const recording = useRecording(approval, messages, label)
  const { unread, onRead } = useReading(view)
  const { finish, restart: onSpent } = recording
  const decision = useDecision({ approval, viewHash, finish, onDecided: props.onChanged, onSpent })
  const blocker = blockerOf({
    isRefused: refusedField(view) !== undefined,
    phase: recording.phase,
    progress: recording.progress,
    unread,
    secondsLeft: Math.max(secondsMin, approval.envelope.policy.minSeconds) - recording.seconds,
    retryAt: approval.retryAt,
    isRecorded: decision.isRecorded,
  })
  const leadTo = (to: Blocker) => {
    if (to.what === 'scroll') showLongValue(to.path)
    if (to.what === 'question') recording.focus()
    if (to.what === 'missed') recording.restart()
  }
  return (
    <article>
      <Asks {...props} />
      <Title text={decisionQuestion(messages, view)} />
      <Until {...props} onOver={props.onChanged} />
      <Notices {...props} />
      <section class="card key" aria-label={messages.critical}>
        <dl>
          <FieldList
            messages={messages}
            fields={view.critical}
            newPaths={approval.newValues}
            onRead={onRead}
            hasHeadline
          />
        </dl>
        <div class="probe" ref={recording.place} />
      </section>
      {recording.phase === 'stopped' ? <Stopped messages={messages} recording={recording} /> : null}
      <AllFields {...props} onRead={onRead} />
      <Recorded messages={messages} recording={recording} />
      {decision.failed ? (
        <Failure messages={messages} failed={decision.failed} isKept={decision.isRecorded} />
      ) : null}
      <DecideBar
        page={page}
        blocker={blocker}
        label={label}
        step={decision.step}
        onBlocked={leadTo}
        onDecide={(chosen, words) => void decision.decide(chosen, words, chosen === 'approve' || !blocker)}
      />
    </article>
  )
}
