import type { OperatorOrder } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import type { Action } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { Drawer, closeDrawer } from '../../shared/design/drawer.tsx'
import { orderStatusLabels, formatUsd } from '../../shared/orders/messages.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Facts } from '../facts.tsx'
import { TextAreaField, NumberField, TextField } from '../fields.tsx'
import { AnswerEditor } from '../form-editor.tsx'
import { nonEmptyLines, normalizeField, type AnswerField } from '../forms.ts'

type OfferProps = {
  readonly api: Api
  readonly order: OperatorOrder
  readonly action: Action
  /** The list, which shows the result. */
  readonly back: string
}

const pathOf = (order: OperatorOrder): string =>
  `/operator/agents/${encodeURIComponent(order.agentId)}/orders/${encodeURIComponent(order.orderId)}`

const firstQuestion: AnswerField = {
  name: 'answer',
  label: 'Your answer',
  type: 'paragraph',
  required: true,
  maxLength: 2_000,
}

type AcceptDraft = {
  readonly title: string
  readonly steps: string
  readonly minutes: string
  readonly reward: string
  readonly questions: AnswerField[]
}

const unitUsdOf = (order: OperatorOrder): number => order.totalUsd / Math.max(1, order.quantity)

const draftFor = (order: OperatorOrder): AcceptDraft => ({
  title: order.taskType.slice(0, 200),
  steps: '',
  minutes: '10',
  // The suggestion is half of the price; a Star is a cent.
  reward: String(Math.floor(unitUsdOf(order) * 50)),
  questions: [firstQuestion],
})

const AcceptFields = (props: { draft: AcceptDraft; set: (change: Partial<AcceptDraft>) => void }) => {
  const { draft, set } = props
  return (
    <>
      <TextField
        id="offer-title"
        label="Title"
        hint="shown to workers"
        maxLength={200}
        value={draft.title}
        onValue={(title) => set({ title })}
      />
      <TextAreaField
        id="offer-steps"
        label="Steps"
        hint="one on each line"
        value={draft.steps}
        onValue={(steps) => set({ steps })}
      />
      <div class="pairs">
        <NumberField
          id="offer-minutes"
          label="Minutes"
          hint="expected"
          min={1}
          max={10_000}
          value={draft.minutes}
          onValue={(minutes) => set({ minutes })}
        />
        <NumberField
          id="offer-reward"
          label="Reward"
          hint="Stars a unit"
          min={0}
          max={1_000_000}
          value={draft.reward}
          onValue={(reward) => set({ reward })}
        />
      </div>
    </>
  )
}

const AcceptForm = ({ api, order, action, back }: OfferProps) => {
  const [draft, setDraft] = useState(() => draftFor(order))
  const set = (change: Partial<AcceptDraft>) => setDraft((now) => ({ ...now, ...change }))
  const accept = async () => {
    const terms = {
      mode: order.mode,
      title: draft.title.trim(),
      steps: nonEmptyLines(draft.steps),
      estMinutes: Number(draft.minutes),
      rewardStars: Number(draft.reward),
      answerForm: draft.questions.map(normalizeField),
    }
    const done = await action.run('Accepted. Workers can claim its units once it is paid.', () =>
      api.call('POST', `${pathOf(order)}/accept`, terms),
    )
    if (done) closeDrawer(back)
  }
  return (
    <section aria-labelledby="accept">
      <h3 id="accept">Accept the offer</h3>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void accept()
        }}
      >
        <AcceptFields draft={draft} set={set} />
        <p class="small muted">
          The buyer pays {formatUsd(unitUsdOf(order))} for a unit; the worker gets{' '}
          {formatUsd(Number(draft.reward) / 100)} of it.
        </p>
        <AnswerEditor id="offer-out" fields={draft.questions} onFields={(questions) => set({ questions })} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy || draft.questions.length === 0}>
            Accept {formatUsd(order.totalUsd)} for {pluralize(order.quantity, 'unit')}
          </button>
        </p>
      </form>
    </section>
  )
}

const DeclineForm = ({ api, order, action, back }: OfferProps) => {
  const [reason, setReason] = useState('')
  const decline = async () => {
    const body = { mode: order.mode, reason: reason.trim() }
    const done = await action.run('Declined. The payment, if any, is refunded.', () =>
      api.call('POST', `${pathOf(order)}/decline`, body),
    )
    if (done) closeDrawer(back)
  }
  return (
    <section aria-labelledby="decline">
      <h3 id="decline">Or decline the offer</h3>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void decline()
        }}
      >
        <TextAreaField
          id="decline-reason"
          label="Why"
          hint="recorded in the audit log"
          maxLength={500}
          rows={2}
          value={reason}
          onValue={setReason}
        />
        <p>
          <button class="btn stop" type="submit" disabled={action.busy}>
            Decline the offer
          </button>
        </p>
      </form>
    </section>
  )
}

const OrderFacts = ({ order }: { order: OperatorOrder }) => {
  const now = Date.now()
  return (
    <Facts
      rows={[
        ['Order', <CopyId value={order.orderId} label="order" />],
        ['Agent', <CopyId value={order.agentId} label="agent" />],
        ['Ordered, UTC', <Moment at={order.createdAt} now={now} />],
        ...(order.fundedAt === null
          ? []
          : [['Paid, UTC', <Moment at={order.fundedAt} now={now} />] as const]),
      ]}
    />
  )
}

/** One order of an agent, with the decision forms where it waits for an operator. */
export const OfferDrawer = (props: OfferProps) => {
  const { order, action, back } = props
  return (
    <Drawer
      title={
        <>
          {order.taskType}{' '}
          <span class={`chip ${order.waitsForOperator ? 'warn' : orderStatusLabels[order.status].tone}`}>
            {order.waitsForOperator ? 'waits for you' : orderStatusLabels[order.status].word}
          </span>
        </>
      }
      onClose={() => (location.hash = back)}
    >
      <p class="muted">
        {pluralize(order.quantity, 'unit')} for {formatUsd(order.totalUsd)},{' '}
        {order.items === 0 ? 'without items' : `with ${pluralize(order.items, 'item')}`}, in {order.mode}{' '}
        mode.{order.fundedAt === null ? ' Not paid yet.' : ''}
      </p>
      {action.error ? <ErrorNote error={action.error} /> : null}
      {order.instructions === null ? null : (
        <section aria-labelledby="instructions">
          <h3 id="instructions">Instructions of the buyer</h3>
          <p class="said">{order.instructions}</p>
        </section>
      )}
      {order.waitsForOperator ? (
        <>
          <AcceptForm {...props} />
          <DeclineForm {...props} />
        </>
      ) : null}
      <OrderFacts order={order} />
    </Drawer>
  )
}
