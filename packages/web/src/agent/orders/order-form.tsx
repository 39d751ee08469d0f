import type { WorkflowWithWarnings, Workflow } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, Commands, ErrorNote } from '../../shared/design/components.tsx'
import { shellQuote } from '../shell-quote.ts'
import { WorkWarnings } from './warnings.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { pluralize } from '../../shared/design/time.ts'
import { itemsHint, parseItems, formatUsd } from '../../shared/orders/messages.ts'

type CreatedOrder = { readonly orderId: string }

/** The choice of a custom task, which no workflow describes. */
const customTask = ''

const curlOf = (origin: string, body: object): string =>
  `curl -s ${origin}/api/agents/order \\
  -H "Authorization: Bearer $POHF_KEY" \\
  --json ${shellQuote(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}`

type OrderDraft = {
  readonly chosen: string
  readonly task: string
  readonly items: string
  readonly quantity: string
  readonly instructions: string
  readonly maxPrice: string
}
type FieldsProps = {
  readonly draft: OrderDraft
  readonly set: (change: Partial<OrderDraft>) => void
  readonly workflow: Workflow | undefined
  /** How many items were recognised in the text. */
  readonly itemCount: number
}

/** The body of the order, as the form and the command line send it. */
const orderBody = (draft: OrderDraft, workflow: Workflow | undefined) => {
  const items = parseItems(draft.items, workflow?.inputForm)
  const instructions = draft.instructions.trim()
  return {
    taskType: workflow?.id ?? draft.task.trim(),
    quantity: draft.quantity === '' ? Math.max(1, items.length) : Number(draft.quantity),
    ...(items.length === 0 ? {} : { items }),
    ...(instructions === '' ? {} : { instructions }),
    ...(draft.maxPrice === '' ? {} : { maxPriceUsd: Number(draft.maxPrice) }),
  }
}

const WorkFields = (props: FieldsProps & { readonly workflows: readonly Workflow[] }) => {
  const { draft, set, workflow, workflows } = props
  return (
    <>
      <label for="workflow">Work</label>
      <select
        id="workflow"
        value={draft.chosen}
        aria-describedby="workflow-about"
        onChange={(event) => set({ chosen: event.currentTarget.value })}
      >
        {workflows.map(({ id, title, priceUsd }) => (
          <option key={id} value={id}>
            {title}, {formatUsd(priceUsd)} a unit
          </option>
        ))}
        <option value={customTask}>A custom task</option>
      </select>
      <p class="small muted" id="workflow-about">
        {workflow
          ? `${workflow.description} It takes about ${pluralize(workflow.estMinutes, 'minute')}.`
          : 'Describe the task and set a maximum price. An operator must accept the order before people can start.'}
      </p>
      {workflow ? null : (
        <>
          <label for="task">The task, in one line</label>
          <input
            id="task"
            required
            maxLength={200}
            placeholder="Call the shop and ask when it opens"
            value={draft.task}
            onInput={(event) => set({ task: event.currentTarget.value })}
          />
        </>
      )}
    </>
  )
}

const ItemFields = ({ draft, set, workflow, itemCount }: FieldsProps) => (
  <>
    <label for="items">
      Items <span class="faint">one on each line, optional</span>
    </label>
    <textarea
      id="items"
      rows={4}
      spellcheck={false}
      aria-describedby="items-hint"
      value={draft.items}
      onInput={(event) => set({ items: event.currentTarget.value })}
    />
    <p class="small muted" id="items-hint">
      {itemsHint(workflow?.inputForm)} A line of JSON is sent as it is.
      {itemCount > 0 ? ` ${pluralize(itemCount, 'item')} so far.` : ''}
    </p>
    <label for="quantity">
      Units <span class="faint">one answer each</span>
    </label>
    <input
      id="quantity"
      type="number"
      inputMode="numeric"
      min={1}
      max={10_000}
      placeholder={String(Math.max(1, itemCount))}
      value={draft.quantity}
      onInput={(event) => set({ quantity: event.currentTarget.value })}
    />
  </>
)

const TermsFields = ({ draft, set }: FieldsProps) => (
  <>
    <label for="instructions">
      Instructions <span class="faint">optional, workers read them</span>
    </label>
    <textarea
      id="instructions"
      rows={2}
      maxLength={4_000}
      value={draft.instructions}
      onInput={(event) => set({ instructions: event.currentTarget.value })}
    />
    <label for="most">
      Maximum price <span class="faint">USD for the whole order, optional</span>
    </label>
    <input
      id="most"
      type="number"
      inputMode="decimal"
      min={0.01}
      step={0.01}
      value={draft.maxPrice}
      onInput={(event) => set({ maxPrice: event.currentTarget.value })}
    />
  </>
)

const Form = (props: { api: Api; workflows: readonly WorkflowWithWarnings[] }) => {
  const { api, workflows } = props
  const [draft, setDraft] = useState<OrderDraft>({
    chosen: workflows[0]?.id ?? customTask,
    task: '',
    items: '',
    quantity: '',
    instructions: '',
    maxPrice: '',
  })
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const workflow = workflows.find(({ id }) => id === draft.chosen)
  const body = orderBody(draft, workflow)
  const set = (change: Partial<OrderDraft>) => setDraft((now) => ({ ...now, ...change }))
  const fields = { draft, set, workflow, itemCount: body.items?.length ?? 0 }
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const { orderId } = await api.call<CreatedOrder>('POST', '/api/agents/order', body)
      location.hash = hrefOf(['orders', orderId])
    } catch (error) {
      setError(toApiError(error))
      setBusy(false)
    }
  }
  return (
    <div class="two">
      <section class="card pad" aria-labelledby="new-order">
        <h2 class="h3" id="new-order">
          New order
        </h2>
        <form class="paste" onSubmit={(event) => void submit(event)}>
          <WorkFields {...fields} workflows={workflows} />
          <ItemFields {...fields} />
          <TermsFields {...fields} />
          <WorkWarnings warnings={workflow?.warnings ?? []} />
          {error ? <ErrorNote error={error} /> : null}
          <p>
            <button class="btn main" type="submit" disabled={busy}>
              {workflow ? `Order for ${formatUsd(workflow.priceUsd * body.quantity)}` : 'Send the order'}
            </button>
          </p>
          <p class="small muted">Nothing is charged yet. The next page has the payment link.</p>
        </form>
      </section>
      <CommandCard body={body} />
    </div>
  )
}

const CommandCard = ({ body }: { body: object }) => (
  <section class="card pad" aria-labelledby="by-curl">
    <h2 class="h3" id="by-curl">
      Or from the command line
    </h2>
    <p class="muted gap">The same order as an API call:</p>
    <Commands text={curlOf(location.origin, body)} label="Command that orders" />
  </section>
)

/** The form for a new order. */
export const OrderForm = ({ api }: { api: Api }) => {
  const loaded = useQuery(
    () => api.call<{ workflows: WorkflowWithWarnings[] }>('GET', '/api/workflows/available'),
    'workflows',
  )
  if (loaded.value) return <Form api={api} workflows={loaded.value.workflows} />
  if (loaded.error) return <ErrorNote error={loaded.error} onRetry={loaded.refetch} />
  return loaded.slow ? <Skeleton /> : null
}

export const NewOrderView = ({ api }: { api: Api }) => (
  <>
    <p class="small">
      <a href={hrefOf(['orders'])}>All orders</a>
    </p>
    <h1>Order work</h1>
    <p class="lead muted">Workers do it in their browser. You get each answer with a signed credential.</p>
    <OrderForm api={api} />
  </>
)
