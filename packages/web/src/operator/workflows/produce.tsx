import type { OperatorWorkflow } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { useAct } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { itemHintOf, itemsOf, usdOf } from '../../shared/orders/messages.ts'
import { Outcome } from '../../shared/design/components.tsx'
import { AreaField, NumberField, SelectField } from '../fields.tsx'

type Produced = { readonly orderId: string; readonly quantity: number; readonly costUsd: number }

/** Has units made at the operator's cost, to be sold from stock. */
export const Produce = (given: { api: Api; workflow: OperatorWorkflow; onChanged: () => void }) => {
  const { api, workflow } = given
  const [mode, setMode] = useState('test')
  const [quantity, setQuantity] = useState('1')
  const [items, setItems] = useState('')
  const [produced, setProduced] = useState<Produced>()
  const acting = useAct(given.onChanged)
  const sent = itemsOf(items, workflow.inputForm)
  const submit = async (event: Event) => {
    event.preventDefault()
    await acting.act('People can take them now.', async () =>
      setProduced(
        await api.call<Produced>('POST', '/operator/work/produce', {
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
        <AreaField
          id="produce-items"
          label="Items"
          hint={`one on each line. ${itemHintOf(workflow.inputForm)}`}
          required={workflow.inputForm.some((field) => field.required)}
          value={items}
          onValue={setItems}
        />
        <Outcome said={acting.said} trouble={acting.trouble} />
        {produced && acting.said !== '' ? (
          <p class="small">
            <code>{produced.orderId}</code>: {produced.quantity} units, {usdOf(produced.costUsd)} to people at
            most.
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
