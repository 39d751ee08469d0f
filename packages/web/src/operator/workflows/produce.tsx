import type { OperatorWorkflow } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { itemsHint, parseItems, formatUsd } from '../../shared/orders/messages.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { TextAreaField, NumberField, SelectField } from '../fields.tsx'

type ProduceResult = { readonly orderId: string; readonly quantity: number; readonly costUsd: number }

/** Has units made at the operator's cost, to be sold from stock. */
export const ProduceForm = (given: { api: Api; workflow: OperatorWorkflow; onChanged: () => void }) => {
  const { api, workflow } = given
  const [mode, setMode] = useState('test')
  const [quantity, setQuantity] = useState('1')
  const [items, setItems] = useState('')
  const [produced, setProduced] = useState<ProduceResult>()
  const acting = useAction(given.onChanged)
  const sent = parseItems(items, workflow.inputForm)
  const submit = async (event: Event) => {
    event.preventDefault()
    await acting.run('People can take them now.', async () =>
      setProduced(
        await api.call<ProduceResult>('POST', '/operator/work/produce', {
          workflowId: workflow.workflowId,
          mode,
          quantity: Number(quantity),
          ...(sent.length === 0 ? {} : { items: sent }),
        }),
      ),
    )
  }
  return (
    <section class="card pad produce" aria-labelledby="produce">
      <h2 class="h3" id="produce">
        Make stock
      </h2>
      <p class="muted gap">
        Agents with a wallet buy finished units. In stock now: {workflow.stock.live ?? 0} live,{' '}
        {workflow.stock.test ?? 0} test.
      </p>
      <form class="parts" onSubmit={(event) => void submit(event)}>
        <div class="pairs">
          <SelectField
            id="produce-mode"
            label="Mode"
            options={[
              ['test', 'test'],
              ['live', 'live'],
            ]}
            value={mode}
            onValue={setMode}
          />
          <NumberField
            id="produce-quantity"
            label="Units"
            min={1}
            max={10_000}
            value={quantity}
            onValue={setQuantity}
          />
        </div>
        <TextAreaField
          id="produce-items"
          label="Items"
          hint={`one on each line. ${itemsHint(workflow.inputForm)}`}
          required={workflow.inputForm.some((field) => field.required)}
          value={items}
          onValue={setItems}
        />
        <ActionResult said={acting.message} trouble={acting.error} />
        {produced && acting.message !== '' ? (
          <p class="small">
            <code>{produced.orderId}</code>: {produced.quantity} units, {formatUsd(produced.costUsd)} to
            people at most.
          </p>
        ) : null}
        <p>
          <button class="btn" type="submit" disabled={acting.busy}>
            Have {quantity === '' ? '0' : quantity} made
          </button>
        </p>
      </form>
    </section>
  )
}
