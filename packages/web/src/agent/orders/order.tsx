import type { Order, OrderUnit } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import {
  Skeleton,
  Commands,
  ActionResult,
  ConfirmButton,
  ErrorNote,
} from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { formatUtc } from '../../shared/design/time.ts'
import { downloadCsv } from './csv.ts'
import { workflowTitle, useWorkflowCatalog } from './workflow-catalog.ts'
import { UnitDrawer } from './unit.tsx'
import { WorkWarnings } from './warnings.tsx'
import { Units, unitsMax, type UnitsPage } from './units.tsx'
import {
  countIn,
  isStage,
  orderStatusLabels,
  stageNames,
  stages,
  orderStatusText,
  formatUsd,
} from '../../shared/orders/messages.ts'

const OrderProgress = ({ order }: { order: Order }) => {
  const at = isStage(order.status) ? stages.indexOf(order.status) : -1
  if (at === -1) return null
  return (
    <ol class="steps" aria-label="Progress of the order">
      {stages.map((stage, index) => (
        <li
          key={stage}
          class={index < at ? 'past' : ''}
          {...(index === at ? { 'aria-current': 'step' as const } : {})}
        >
          {stageNames[stage]}
        </li>
      ))}
    </ol>
  )
}

const Escrow = ({ order }: { order: Order }) => {
  const { status, heldUsd, paidUsd, returnedUsd } = order.escrow
  const rows: readonly (readonly [name: string, amount: number, tone: string])[] = [
    ['Held for work', heldUsd, 'held'],
    ['Paid for accepted units', paidUsd, 'paid'],
    ['Returned to you', returnedUsd, 'returned'],
  ]
  return (
    <section class="card pad" aria-labelledby="escrow">
      <h2 class="h3" id="escrow">
        Money
      </h2>
      <p class="muted gap">
        {status === 'unfunded'
          ? 'It is not paid yet.'
          : `${formatUsd(order.totalUsd)} was paid. Where it is now:`}
      </p>
      <dl class="bars money">
        {rows.map(([name, amount, tone]) => (
          <div key={name} class={`bar ${tone}`}>
            <dt class="muted">{name}</dt>
            <dd
              class="track"
              style={{ '--v': `${order.totalUsd === 0 ? 0 : (100 * amount) / order.totalUsd}%` }}
              aria-hidden="true"
            />
            <dd class="num">{formatUsd(amount)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const OrderTerms = ({ order }: { order: Order }) => (
  <section class="card pad" aria-labelledby="facts">
    <h2 class="h3" id="facts">
      Terms
    </h2>
    <dl class="facts">
      <div>
        <dt>Order</dt>
        <dd>
          <CopyId value={order.orderId} label="order" />
        </dd>
      </div>
      <div>
        <dt>Units</dt>
        <dd class="num">
          {order.quantity.toLocaleString('en')} at {formatUsd(order.unitPriceUsd)}
        </dd>
      </div>
      {order.workflowId === null ? null : (
        <div>
          <dt>Workflow</dt>
          <dd>
            <code>{order.workflowId}</code>
          </dd>
        </div>
      )}
      <div>
        <dt>Ordered</dt>
        <dd class="num">{formatUtc(order.createdAt)}</dd>
      </div>
      {order.fundedAt === null ? null : (
        <div>
          <dt>Paid</dt>
          <dd class="num">{formatUtc(order.fundedAt)}</dd>
        </div>
      )}
      {order.callbackRef === null ? null : (
        <div>
          <dt>Your reference</dt>
          <dd>
            <CopyId value={order.callbackRef} label="reference" />
          </dd>
        </div>
      )}
    </dl>
  </section>
)

/** Opens the checkout in a new tab, because a reload of this page would lose the key. */
const PayButton = ({ api, order, action }: { api: Api; order: Order; action: Action }) => {
  const [checkoutUrl, setCheckoutUrl] = useState<string>()
  return checkoutUrl === undefined ? (
    <button
      type="button"
      class="btn main"
      disabled={action.busy}
      onClick={() =>
        void action.run(
          api.mode === 'test' ? 'Funded. In test mode nobody pays.' : 'The payment page is ready.',
          async () => {
            const { orderId } = order
            const made = await api.call<{ checkoutUrl: string }>('POST', '/api/agents/order/fund', {
              orderId,
            })
            setCheckoutUrl(made.checkoutUrl)
          },
        )
      }
    >
      {api.mode === 'test'
        ? 'Fund it without payment (test mode)'
        : `Pay ${formatUsd(order.totalUsd)} and start`}
    </button>
  ) : (
    <a class="btn main" href={checkoutUrl} target="_blank" rel="noopener noreferrer">
      Open the payment page<span class="hidden"> in a new tab</span>
    </a>
  )
}

const OrderActions = ({ api, order, action }: { api: Api; order: Order; action: Action }) => {
  const path = `/api/agents/orders/${encodeURIComponent(order.orderId)}`
  const open = countIn(order, 'open')
  const mayCancel = order.status === 'created' || (open > 0 && isStage(order.status))
  const hasAnswers = countIn(order, 'delivered', 'accepted', 'rejected', 'appealed', 'refused') > 0
  return (
    <div class="acts">
      {order.status === 'created' ? <PayButton api={api} order={order} action={action} /> : null}
      <button
        type="button"
        class="btn"
        disabled={action.busy || !hasAnswers}
        onClick={() => void action.run('The results are saved.', () => downloadCsv(api, order))}
      >
        Save the results as CSV
      </button>
      {mayCancel ? (
        <ConfirmButton
          label="Cancel"
          isDangerous
          confirmLabel={
            order.status === 'created'
              ? 'Cancel this order'
              : `Cancel the units without a worker: ${open} of ${order.quantity}`
          }
          disabled={action.busy}
          onConfirm={() => void action.run('Cancelled.', () => api.call('POST', `${path}/cancel`, {}))}
        />
      ) : null}
    </div>
  )
}

const curlOf = (origin: string, orderId: string): string => `curl -s -H "Authorization: Bearer $POHF_KEY" \\
  ${origin}/api/agents/orders/${orderId}/results`

type UnitFilter = { readonly state: string | undefined; readonly after: string | undefined }

const useOrder = (api: Api, id: string, { state, after }: UnitFilter) => {
  const path = `/api/agents/orders/${encodeURIComponent(id)}`
  const parameters = new URLSearchParams({
    limit: String(unitsMax),
    ...(state === undefined ? {} : { status: state }),
    ...(after === undefined ? {} : { after }),
  })
  const loaded = useQuery(async () => {
    const [order, page] = await Promise.all([
      api.call<Order>('GET', path),
      api.call<UnitsPage>('GET', `${path}/results?${parameters.toString()}`),
    ])
    return { order, page }
  }, `${id}?${parameters.toString()}`)
  // While another page of units is loading, the order stays on the page.
  const [last, setLast] = useState<Order>()
  const order = loaded.value?.order ?? last
  if (order !== last) setLast(order)
  return { loaded, order }
}

const Overview = ({ api, order, action }: { api: Api; order: Order; action: Action }) => (
  <>
    <p class="lead muted">
      <span class={`chip ${orderStatusLabels[order.status].tone}`}>
        {orderStatusLabels[order.status].word}
      </span>{' '}
      {orderStatusText(order, Date.now())}
    </p>
    <OrderProgress order={order} />
    {order.status === 'created' ? <WorkWarnings warnings={order.warnings} /> : null}
    <ActionResult message={action.message} error={action.error} />
    <OrderActions api={api} order={order} action={action} />
    <div class="two">
      <Escrow order={order} />
      <OrderTerms order={order} />
    </div>
  </>
)

/** One order: its status, its escrow and its units. */
export const OrderView = (props: { api: Api; issuer: string; id: string; query: URLSearchParams }) => {
  const { api, issuer, id, query } = props
  const [state, after, unit] = ['state', 'after', 'unit'].map((name) => query.get(name) ?? undefined)
  const { loaded, order } = useOrder(api, id, { state, after })
  const action = useAction(loaded.refetch)
  const offered = useWorkflowCatalog(api)
  const n = unit !== undefined && /^\d{1,5}$/.test(unit) ? Number(unit) : undefined
  const units: readonly OrderUnit[] = loaded.value?.page.units ?? []
  const hrefWith = (next: number | undefined) =>
    hrefOf(['orders', id], { state, after, unit: next === undefined ? undefined : String(next) })
  return (
    <>
      <p class="small">
        <a href={hrefOf(['orders'])}>All orders</a>
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!order && loaded.slow ? <Skeleton /> : null}
      {order ? (
        <>
          <h1 class="address">{workflowTitle(offered, order.taskType)}</h1>
          <Overview api={api} order={order} action={action} />
          <Units
            order={order}
            page={loaded.value?.page}
            state={state}
            hrefOfUnit={hrefWith}
            hrefOfPage={(nextState, nextAfter) =>
              hrefOf(['orders', id], { state: nextState, after: nextAfter })
            }
          />
          <details class="card pad ended">
            <summary>The same from the command line</summary>
            <Commands text={curlOf(location.origin, order.orderId)} label="Command that reads the results" />
          </details>
          {n === undefined ? null : (
            <UnitDrawer
              api={api}
              issuer={issuer}
              order={order}
              workflow={offered.get(order.workflowId ?? '')}
              n={n}
              before={units.findLast((one) => one.n < n)?.n}
              next={units.find((one) => one.n > n)?.n}
              hrefOfUnit={hrefWith}
              onChanged={loaded.refetch}
              onClose={() => (location.hash = hrefWith(undefined))}
            />
          )}
        </>
      ) : null}
    </>
  )
}
