import type { Order, OrderUnit, RejectReason, Workflow } from '@pohf/protocol'
import { useEffect, useState } from 'preact/hooks'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { Drawer } from '../../shared/design/drawer.tsx'
import { lazy } from '../../shared/shell/lazy.tsx'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, ActionResult, ErrorNote } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import { Value } from '../../shared/design/value.tsx'
import type { UnitsPage } from './units.tsx'
import {
  rejectReasonText,
  rejectReasonLabels,
  unitStatusText,
  unitStatusLabels,
  formatUsd,
} from '../../shared/orders/messages.ts'

// Both are large, so they are loaded only when a unit is opened.
const Credential = lazy(async () => (await import('../credentials/credential.tsx')).Credential)
const Session = lazy(async () => (await import('../sessions/session-replay.tsx')).Session)

const RejectForm = (props: { busy: boolean; onReject: (reason: string, note: string) => void }) => {
  const [reason, setReason] = useState<RejectReason>('wrong_answer')
  const [note, setNote] = useState('')
  return (
    <details class="reject">
      <summary>Reject it</summary>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault()
          props.onReject(reason, note.trim())
        }}
      >
        <label for="reason">Why</label>
        <select
          id="reason"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value as RejectReason)}
        >
          {Object.entries(rejectReasonLabels).map(([code, words]) => (
            <option key={code} value={code}>
              {words}
            </option>
          ))}
        </select>
        <label for="note">
          Note <span class="faint">the worker reads it</span>
        </label>
        <textarea
          id="note"
          rows={3}
          maxLength={1_000}
          required={reason === 'other'}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
        <p>
          <button class="btn stop" type="submit" disabled={props.busy}>
            Reject and tell the worker why
          </button>
        </p>
      </form>
    </details>
  )
}

const ReviewForm = (props: { api: Api; order: Order; unit: OrderUnit; action: Action }) => {
  const { api, order, unit, action } = props
  const path = `/api/agents/orders/${encodeURIComponent(order.orderId)}/units/${unit.n}`
  /** The pressed button disappears, so the focus moves to the title. */
  const decide = async (words: string, work: () => Promise<unknown>) => {
    if (await action.run(words, work)) document.getElementById('drawer-title')?.focus()
  }
  return (
    <section aria-labelledby="decide">
      <h3 id="decide">Is it what you asked for?</h3>
      <div class="acts">
        <button
          type="button"
          class="btn main"
          disabled={action.busy}
          onClick={() =>
            void decide('Accepted. The worker is paid.', () => api.call('POST', `${path}/accept`, {}))
          }
        >
          Accept and pay {formatUsd(order.unitPriceUsd)}
        </button>
      </div>
      <RejectForm
        busy={action.busy}
        onReject={(reason, note) =>
          void decide('Rejected. The worker sees the reason and can appeal.', () =>
            api.call('POST', `${path}/reject`, { reason, ...(note === '' ? {} : { note }) }),
          )
        }
      />
    </section>
  )
}

const DisputeHistory = ({ unit, now }: { unit: OrderUnit; now: number }) => {
  const { rejection, appeal } = unit
  if (!rejection) return null
  return (
    <section aria-labelledby="dispute">
      <h3 id="dispute">Rejection and appeal</h3>
      <ol class="talk">
        <li>
          <p>
            <b>Rejected</b> <Moment at={rejection.at} now={now} />
          </p>
          <p>{rejectReasonText(rejection.reason)}.</p>
          {rejection.note === null ? null : <p class="said">{rejection.note}</p>}
        </li>
        {appeal ? (
          <li>
            <p>
              <b>The worker appealed</b> <Moment at={appeal.at} now={now} />
            </p>
            <p class="said">{appeal.text}</p>
          </li>
        ) : null}
        {appeal?.decision ? (
          <li>
            <p>
              <b>
                {appeal.decision === 'accepted'
                  ? 'An operator accepted the appeal: the worker is paid'
                  : 'An operator upheld the rejection'}
              </b>
            </p>
            {appeal.decisionReason === null ? null : <p class="said">{appeal.decisionReason}</p>}
          </li>
        ) : null}
      </ol>
    </section>
  )
}

const SessionReplay = ({ api, sessionId }: { api: Api; sessionId: string }) => {
  const [wanted, setWanted] = useState(false)
  return (
    <section aria-labelledby="session">
      <h3 id="session">How it was done</h3>
      {wanted ? (
        <Session api={api} sessionId={sessionId} />
      ) : (
        <>
          <p class="muted gap">
            The recording shows pointer positions and the times of key presses, but not which keys. Your
            browser checks it first.
          </p>
          <p class="gap">
            <button type="button" class="btn" onClick={() => setWanted(true)}>
              Replay the session
            </button>
          </p>
        </>
      )}
    </section>
  )
}

const DeliveryFacts = ({ unit }: { unit: OrderUnit }) =>
  unit.deliveredAt === null ? null : (
    <dl class="facts">
      <div>
        <dt>Delivered</dt>
        <dd class="num">{formatUtc(unit.deliveredAt)}</dd>
      </div>
      {unit.quality === null ? null : (
        <div>
          <dt>Quality of attention</dt>
          <dd class="num">{unit.quality.toFixed(2)}</dd>
        </div>
      )}
      {unit.sessionId === null ? null : (
        <div>
          <dt>Session</dt>
          <dd>
            <CopyId value={unit.sessionId} label="session" />
          </dd>
        </div>
      )}
    </dl>
  )

const UnitDetails = (props: {
  api: Api
  issuer: string
  order: Order
  workflow: Workflow | undefined
  unit: OrderUnit
  onDone: () => void
}) => {
  const { api, issuer, order, workflow, unit } = props
  const action = useAction(props.onDone)
  const now = Date.now()
  return (
    <>
      <p class="muted">{unitStatusText(unit, now)}</p>
      <ActionResult message={action.message} error={action.error} />
      {unit.answer === null || unit.answer === undefined ? null : (
        <section aria-labelledby="answer">
          <h3 id="answer">Answer</h3>
          <Value value={unit.answer} label="Answer" fields={workflow?.answerForm} />
        </section>
      )}
      {unit.input === null || unit.input === undefined ? null : (
        <section aria-labelledby="input">
          <h3 id="input">What you asked</h3>
          <Value value={unit.input} label="Input" fields={workflow?.inputForm} />
        </section>
      )}
      {unit.status === 'delivered' ? (
        <ReviewForm api={api} order={order} unit={unit} action={action} />
      ) : null}
      <DisputeHistory unit={unit} now={now} />
      {unit.credential ? (
        <section aria-labelledby="proof">
          <h3 id="proof">Proof</h3>
          <Credential
            key={unit.credential.credentialId}
            jwt={unit.credential.pohf_jwt}
            issuer={issuer}
            agentName={undefined}
          />
        </section>
      ) : null}
      {unit.sessionId === null ? null : (
        <SessionReplay key={unit.sessionId} api={api} sessionId={unit.sessionId} />
      )}
      <DeliveryFacts unit={unit} />
    </>
  )
}

type UnitDrawerProps = {
  readonly api: Api
  readonly issuer: string
  readonly order: Order
  readonly workflow: Workflow | undefined
  readonly n: number
  readonly before: number | undefined
  readonly next: number | undefined
  readonly hrefOfUnit: (n: number) => string
  readonly onChanged: () => void
  readonly onClose: () => void
}

/** One unit: its input, its answer, its credential, and the buyer's review. */
export const UnitDrawer = (props: UnitDrawerProps) => {
  const { api, issuer, order, n, before, next } = props
  const address = `/api/agents/orders/${encodeURIComponent(order.orderId)}/results?after=${n - 1}&limit=1`
  const loaded = useQuery(
    async () => (await api.call<UnitsPage>('GET', address)).units.find((unit) => unit.n === n) ?? null,
    address,
  )
  const unit = loaded.value
  useEffect(() => document.getElementById('drawer-title')?.focus(), [n])
  return (
    <Drawer
      title={
        <>
          Unit {n}{' '}
          {unit ? (
            <span class={`chip ${unitStatusLabels[unit.status].tone}`}>
              {unitStatusLabels[unit.status].word}
            </span>
          ) : null}
        </>
      }
      tools={
        <nav aria-label="Other units">
          {before === undefined ? null : <a href={props.hrefOfUnit(before)}>Previous</a>}
          {next === undefined ? null : <a href={props.hrefOfUnit(next)}>Next</a>}
        </nav>
      }
      onClose={props.onClose}
    >
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {unit === undefined && loaded.slow ? <Skeleton /> : null}
      {unit === null ? <p class="muted">This order has no unit {n}.</p> : null}
      {unit ? (
        <UnitDetails
          key={n}
          api={api}
          issuer={issuer}
          order={order}
          workflow={props.workflow}
          unit={unit}
          onDone={() => {
            loaded.refetch()
            props.onChanged()
          }}
        />
      ) : null}
    </Drawer>
  )
}
