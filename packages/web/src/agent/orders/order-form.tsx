import type { Workflow } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, Commands, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { pluralize } from '../../shared/design/time.ts'
import { itemsHint, parseItems, formatUsd } from '../../shared/orders/messages.ts'

type CreatedOrder = { readonly orderId: string }

/** The choice that is no workflow: the task in the buyer's own words. */
const customTask = ''

/** Quotes for a shell: a single quote ends the text, so it is written outside of it. */
const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const curlOf = (origin: string, body: object): string =>
  `curl -s ${origin}/api/agents/order \\
  -H "Authorization: Bearer $POHF_KEY" \\
  --json ${shellQuote(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}`

const Fields = (given: { api: Api; workflows: readonly Workflow[] }) => {
  const { api, workflows } = given
  const [chosen, setChosen] = useState(workflows[0]?.id ?? customTask)
  const [task, setTask] = useState('')
  const [items, setItems] = useState('')
  const [quantity, setQuantity] = useState('')
  const [instructions, setInstructions] = useState('')
  const [most, setMost] = useState('')
  const [busy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState<ApiError>()
  const workflow = workflows.find(({ id }) => id === chosen)
  const sent = parseItems(items, workflow?.inputForm)
  const count = quantity === '' ? Math.max(1, sent.length) : Number(quantity)
  const body = {
    taskType: workflow?.id ?? task.trim(),
    quantity: count,
    ...(sent.length === 0 ? {} : { items: sent }),
    ...(instructions.trim() === '' ? {} : { instructions: instructions.trim() }),
    ...(most === '' ? {} : { maxPriceUsd: Number(most) }),
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setTrouble(undefined)
    try {
      const { orderId } = await api.call<CreatedOrder>('POST', '/api/agents/order', body)
      location.hash = hrefOf(['orders', orderId])
    } catch (error) {
      setTrouble(toApiError(error))
      setBusy(false)
    }
  }
  return (
    <div class="two">
      <section class="card pad" aria-labelledby="new-order">
        <h2 class="h3" id="new-order">
          What shall people do?
        </h2>
        <form class="paste" onSubmit={(event) => void submit(event)}>
          <label for="workflow">Work</label>
          <select
            id="workflow"
            value={chosen}
            aria-describedby="workflow-about"
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            {workflows.map(({ id, title, priceUsd }) => (
              <option key={id} value={id}>
                {title}, {formatUsd(priceUsd)} a unit
              </option>
            ))}
            <option value={customTask}>Something else, in your words</option>
          </select>
          <p class="small muted" id="workflow-about">
            {workflow
              ? `${workflow.description} About ${pluralize(workflow.estMinutes, 'minute')} for a person.`
              : 'You name the task and the most you pay. An operator looks at it before people start.'}
          </p>
          {workflow ? null : (
            <>
              <label for="task">The task, in one line</label>
              <input
                id="task"
                required
                maxLength={200}
                placeholder="Call the shop and ask when it opens"
                value={task}
                onInput={(event) => setTask(event.currentTarget.value)}
              />
            </>
          )}
          <label for="items">
            Items <span class="faint">one on each line, or none</span>
          </label>
          <textarea
            id="items"
            rows={4}
            spellcheck={false}
            aria-describedby="items-hint"
            value={items}
            onInput={(event) => setItems(event.currentTarget.value)}
          />
          <p class="small muted" id="items-hint">
            {itemsHint(workflow?.inputForm)} JSON is taken as it is.
            {sent.length > 0 ? ` ${pluralize(sent.length, 'item')} so far.` : ''}
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
            placeholder={String(Math.max(1, sent.length))}
            value={quantity}
            onInput={(event) => setQuantity(event.currentTarget.value)}
          />
          <label for="instructions">
            What people should know <span class="faint">if anything</span>
          </label>
          <textarea
            id="instructions"
            rows={2}
            maxLength={4_000}
            value={instructions}
            onInput={(event) => setInstructions(event.currentTarget.value)}
          />
          <label for="most">
            Pay at most <span class="faint">USD for the whole order, if you want a limit</span>
          </label>
          <input
            id="most"
            type="number"
            inputMode="decimal"
            min={0.01}
            step={0.01}
            value={most}
            onInput={(event) => setMost(event.currentTarget.value)}
          />
          {trouble ? <ErrorNote trouble={trouble} /> : null}
          <p>
            <button class="btn main" type="submit" disabled={busy}>
              {workflow ? `Order for ${formatUsd(workflow.priceUsd * count)}` : 'Send the order'}
            </button>
          </p>
          <p class="small muted">Nothing is charged yet: the next page has the link to pay.</p>
        </form>
      </section>
      <section class="card pad" aria-labelledby="by-curl">
        <h2 class="h3" id="by-curl">
          Or from the command line
        </h2>
        <p class="muted gap">The same order, as your agent would send it:</p>
        <Commands text={curlOf(location.origin, body)} label="Command that orders" />
      </section>
    </div>
  )
}

/** Orders work. Workflows are public, so they are read as anybody would. */
export const OrderForm = ({ api }: { api: Api }) => {
  const loaded = useQuery(
    () => api.call<{ workflows: Workflow[] }>('GET', '/api/workflows/available'),
    'workflows',
  )
  if (loaded.value) return <Fields api={api} workflows={loaded.value.workflows} />
  if (loaded.error) return <ErrorNote trouble={loaded.error} onRetry={loaded.refetch} />
  return loaded.slow ? <Skeleton /> : null
}

export const NewOrderView = ({ api }: { api: Api }) => (
  <>
    <p class="small">
      <a href={hrefOf(['orders'])}>All orders</a>
    </p>
    <h1>Order work</h1>
    <p class="lead muted">People do it in their browser. Each answer comes back with a signed proof.</p>
    <OrderForm api={api} />
  </>
)
