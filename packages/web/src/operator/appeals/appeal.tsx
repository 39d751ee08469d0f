import type { Appeal } from '@pohf/protocol'
import type { Action } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { Drawer, closeDrawer } from '../../shared/design/drawer.tsx'
import { rejectReasonText } from '../../shared/orders/messages.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { Moment } from '../../shared/design/moment.tsx'
import { Value } from '../../shared/design/value.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { DecisionForm } from '../decision-form.tsx'

const WorkSection = ({ appeal }: { appeal: Appeal }) => (
  <>
    {appeal.instructions === null ? null : (
      <section aria-labelledby="instructions">
        <h3 id="instructions">Instructions</h3>
        <p class="said">{appeal.instructions}</p>
      </section>
    )}
    {appeal.input === null || appeal.input === undefined ? null : (
      <section aria-labelledby="input">
        <h3 id="input">Input</h3>
        <Value value={appeal.input} label="Input" />
      </section>
    )}
    <section aria-labelledby="answer">
      <h3 id="answer">The worker’s answer</h3>
      <Value value={appeal.answer} label="Answer" />
    </section>
  </>
)

const BothSides = ({ appeal }: { appeal: Appeal }) => (
  <section aria-labelledby="sides">
    <h3 id="sides">Rejection and appeal</h3>
    <ol class="talk">
      <li>
        <p>
          <b>Rejection</b>
        </p>
        <p>{rejectReasonText(appeal.rejection.reason)}.</p>
        {appeal.rejection.note === null ? null : <p class="said">{appeal.rejection.note}</p>}
      </li>
      <li>
        <p>
          <b>The worker’s appeal</b>
        </p>
        <p class="said">{appeal.text}</p>
      </li>
    </ol>
  </section>
)

const AppealDecision = ({ api, appeal, action }: { api: Api; appeal: Appeal; action: Action }) => {
  const decide = async (isAccepted: boolean, reason: string) => {
    const message = isAccepted ? 'The appeal was accepted.' : 'The rejection was upheld.'
    const decision = isAccepted ? 'accepted' : 'refused'
    const path = `/operator/appeals/${encodeURIComponent(appeal.assignmentId)}/decide`
    const done = await action.run(message, () => api.call('POST', path, { decision, reason }))
    if (done) closeDrawer(hrefOf(['appeals']))
  }
  return (
    <DecisionForm
      id="decision-reason"
      texts={{
        hint: 'the worker and the buyer read it',
        accept: 'Accept the appeal',
        refuse: 'Uphold the rejection',
        maxLength: 1_000,
      }}
      acceptsWithReason
      busy={action.busy}
      onDecide={(isAccepted, reason) => void decide(isAccepted, reason)}
    />
  )
}

const AppealFacts = ({ appeal }: { appeal: Appeal }) => (
  <dl class="facts">
    {appeal.quality === null ? null : (
      <div>
        <dt>Quality of attention</dt>
        <dd class="num">{appeal.quality.toFixed(2)}</dd>
      </div>
    )}
    <div>
      <dt>Appealed, UTC</dt>
      <dd>
        <Moment at={appeal.at} now={Date.now()} />
      </dd>
    </div>
    <div>
      <dt>Order</dt>
      <dd>
        <CopyId value={appeal.orderId} label="order" />
      </dd>
    </div>
    <div>
      <dt>Unit</dt>
      <dd class="num">{appeal.n}</dd>
    </div>
    <div>
      <dt>Assignment</dt>
      <dd>
        <CopyId value={appeal.assignmentId} label="assignment" />
      </dd>
    </div>
    <div>
      <dt>Agent</dt>
      <dd>
        <CopyId value={appeal.agentId} label="agent" />
      </dd>
    </div>
    <div>
      <dt>Mode</dt>
      <dd>{appeal.mode}</dd>
    </div>
  </dl>
)

/** One appeal: the work, both sides, and the decision. */
export const AppealDrawer = (props: { api: Api; appeal: Appeal; action: Action; onClose: () => void }) => {
  const { api, appeal, action } = props
  return (
    <Drawer title={appeal.title} onClose={props.onClose}>
      <p class="muted">
        Your decision is final. An accepted appeal pays the worker for the unit. For a known-answer item, the
        note of the rejection shows the known answer.
      </p>
      {action.error ? <ErrorNote error={action.error} /> : null}
      <WorkSection appeal={appeal} />
      <BothSides appeal={appeal} />
      <AppealDecision api={api} appeal={appeal} action={action} />
      <AppealFacts appeal={appeal} />
    </Drawer>
  )
}
