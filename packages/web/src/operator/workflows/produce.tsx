import type { OperatorWorkflow } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { itemsHint, parseItems, formatUsd } from '../../shared/orders/messages.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { TextAreaField, NumberField, SelectField } from '../fields.tsx'

type ProduceResult = { readonly orderId: string; readonly quantity: number; readonly costUsd: number }

type ProduceDraft = { readonly mode: string; readonly quantity: string; readonly items: string }

const ProduceFields = (props: {
  draft: ProduceDraft
  workflow: OperatorWorkflow
  set: (change: Partial<ProduceDraft>) => void
}) => {
  const { draft, workflow, set } = props
  return (
    <>
      <div class="pairs">
        <SelectField
          id="produce-mode"
          label="Mode"
          options={[
            ['test', 'test'],
            ['live', 'live'],
          ]}
          value={draft.mode}
          onValue={(mode) => set({ mode })}
        />
        <NumberField
          id="produce-quantity"
          label="Units"
          min={1}
          max={10_000}
          value={draft.quantity}
          onValue={(quantity) => set({ quantity })}
        />
      </div>
      <TextAreaField
        id="produce-items"
        label="Items"
        hint={`one on each line. ${itemsHint(workflow.inputForm)}`}
        required={workflow.inputForm.some((field) => field.required)}
        value={draft.items}
        onValue={(items) => set({ items })}
      />
    </>
  )
}

const bodyOf = (
  { workflowId }: OperatorWorkflow,
  { mode, quantity }: ProduceDraft,
  items: ReturnType<typeof parseItems>,
) => ({ workflowId, mode, quantity: Number(quantity), ...(items.length === 0 ? {} : { items }) })

/** Orders units at the operator's cost, to be sold from stock. */
export const ProduceForm = (props: { api: Api; workflow: OperatorWorkflow; onChanged: () => void }) => {
  const { api, workflow } = props
  const [draft, setDraft] = useState<ProduceDraft>({ mode: 'test', quantity: '1', items: '' })
  // For what the form says: the same units are ordered once, also where the answer was lost.
  const [key, setKey] = useState(() => crypto.randomUUID())
  const [produced, setProduced] = useState<ProduceResult>()
  const action = useAction(props.onChanged)
  const items = parseItems(draft.items, workflow.inputForm)
  const submit = async (event: Event) => {
    event.preventDefault()
    const isDone = await action.run('Workers can claim the units now.', async () =>
      setProduced(
        await api.call<ProduceResult>('POST', '/operator/work/produce', bodyOf(workflow, draft, items), key),
      ),
    )
    if (isDone) setKey(crypto.randomUUID())
  }
  return (
    <section class="card pad produce" aria-labelledby="produce">
      <h2 class="h3" id="produce">
        Order units for stock
      </h2>
      <p class="muted gap">
        Agents with a wallet buy accepted units over HTTP 402. In stock now: {workflow.stock.live ?? 0} live,{' '}
        {workflow.stock.test ?? 0} test.
      </p>
      <form class="parts" onSubmit={(event) => void submit(event)}>
        <ProduceFields
          draft={draft}
          workflow={workflow}
          set={(change) => {
            setKey(crypto.randomUUID())
            setDraft((now) => ({ ...now, ...change }))
          }}
        />
        <ActionResult message={action.message} error={action.error} />
        {produced && action.message !== '' ? (
          <p class="small">
            <code>{produced.orderId}</code>: {produced.quantity} units, at most {formatUsd(produced.costUsd)}{' '}
            to workers.
          </p>
        ) : null}
        <p>
          <button class="btn" type="submit" disabled={action.busy}>
            Order {draft.quantity === '' ? '0' : draft.quantity}
          </button>
        </p>
      </form>
    </section>
  )
}
