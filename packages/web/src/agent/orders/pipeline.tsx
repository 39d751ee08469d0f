import type { Order, OrderState } from '@pohf/protocol'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, ErrorNote } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { OrderForm } from './order-form.tsx'
import { workflowTitle, useWorkflowCatalog, type WorkflowCatalog } from './workflow-catalog.ts'
import { UnitBar } from './unit-bar.tsx'
import {
  countIn,
  ordersHeadline,
  isStage,
  orderStatusLabels,
  stageNames,
  stages,
  formatUsd,
  type Stage,
} from '../../shared/orders/messages.ts'

type Page = { readonly orders: readonly Order[]; readonly nextCursor: string | null }

/** The most cards in a column; its heading links to all orders of the state. */
const columnMax = 12

const OrderCard = ({ order, offered, now }: { order: Order; offered: WorkflowCatalog; now: number }) => {
  const review = countIn(order, 'delivered')
  return (
    <li class="card ticket">
      <p class="address">
        <a href={hrefOf(['orders', order.orderId])}>
          <b>{workflowTitle(offered, order.taskType)}</b>
        </a>
      </p>
      <p class="small muted num">
        {pluralize(order.quantity, 'unit')}, {formatUsd(order.totalUsd)}
      </p>
      <UnitBar order={order} />
      <p class="small">
        <Moment at={order.createdAt} now={now} />{' '}
        {order.waitsForOperator ? <span class="faint">The offer waits for an operator.</span> : null}
      </p>
      {review > 0 ? <p class="chip warn">{review} to review</p> : null}
    </li>
  )
}

type OrderListProps = {
  readonly orders: readonly Order[]
  readonly offered: WorkflowCatalog
  readonly now: number
}

const Column = ({ stage, orders, offered, now }: OrderListProps & { readonly stage: Stage }) => {
  const here = orders.filter(({ status }) => status === stage)
  return (
    <section class={`column ${here.length === 0 ? 'none' : ''}`} aria-labelledby={`stage-${stage}`}>
      <h2 class="small" id={`stage-${stage}`}>
        <a href={hrefOf(['orders'], { state: stage })}>{stageNames[stage]}</a>{' '}
        <span class="num faint">{here.length}</span>
      </h2>
      {here.length === 0 ? null : (
        <ul class="plainlist stack">
          {here.slice(0, columnMax).map((order) => (
            <OrderCard key={order.orderId} order={order} offered={offered} now={now} />
          ))}
        </ul>
      )}
      {here.length > columnMax ? (
        <p class="small gap">
          <a href={hrefOf(['orders'], { state: stage })}>{here.length - columnMax} more</a>
        </p>
      ) : null}
    </section>
  )
}

const Tiles = ({ orders, isAll }: { orders: readonly Order[]; isAll: boolean }) => {
  const sum = (of: (order: Order) => number) => orders.reduce((total, order) => total + of(order), 0)
  const review = sum((order) => countIn(order, 'delivered'))
  const tiles: readonly (readonly [name: string, value: string, note: string])[] = [
    ['To review', String(review), review === 1 ? 'unit' : 'units'],
    ['In escrow', formatUsd(sum(({ escrow }) => escrow.heldUsd)), 'held for work'],
    ['Paid', formatUsd(sum(({ escrow }) => escrow.paidUsd)), 'for accepted units'],
    ['Returned', formatUsd(sum(({ escrow }) => escrow.returnedUsd)), 'for refused and cancelled units'],
  ]
  return (
    <dl class="tiles" aria-label={isAll ? 'All orders' : 'The latest 100 orders'}>
      {tiles.map(([name, value, note]) => (
        <div key={name} class="card tile">
          <dt class="muted">{name}</dt>
          <dd class="num big">{value}</dd>
          <dd class="small faint">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

const OrderRows = ({ orders, offered, now }: OrderListProps) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Order</th>
        <th scope="col">State</th>
        <th scope="col" class="num wide-only">
          Units
        </th>
        <th scope="col" class="num">
          Total, USD
        </th>
        <th scope="col" class="wide-only">
          Ordered, UTC
        </th>
      </tr>
    </thead>
    <tbody>
      {orders.map((order) => (
        <tr key={order.orderId}>
          <th scope="row" class="address">
            <a href={hrefOf(['orders', order.orderId])}>{workflowTitle(offered, order.taskType)}</a>
            <span class="block small wide-only">
              <CopyId value={order.orderId} label="order" />
            </span>
          </th>
          <td>
            <span class={`chip ${orderStatusLabels[order.status].tone}`}>
              {orderStatusLabels[order.status].word}
            </span>
          </td>
          <td class="num wide-only">{order.quantity.toLocaleString('en')}</td>
          <td class="num">{formatUsd(order.totalUsd).replace('$', '')}</td>
          <td class="wide-only">
            <Moment at={order.createdAt} now={now} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const EndedOrders = ({ orders, offered, now }: OrderListProps) => {
  const ended = orders.filter(({ status }) => !isStage(status))
  if (ended.length === 0) return null
  const counts = (['cancelled', 'refunded', 'expired'] as const)
    .map((state) => [state, ended.filter(({ status }) => status === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
  return (
    <details class="card pad ended">
      <summary>Ended early: {counts.join(', ')}</summary>
      <OrderRows orders={ended} offered={offered} now={now} />
    </details>
  )
}

/** Every order in the column of its status. */
export const PipelineView = ({ api }: { api: Api }) => {
  const loaded = useQuery(() => api.call<Page>('GET', '/api/agents/orders?limit=100'), 'pipeline')
  const offered = useWorkflowCatalog(api)
  const now = Date.now()
  const orders = loaded.value?.orders
  const isAll = loaded.value?.nextCursor === null
  const [finding, rest] = orders ? ordersHeadline(orders, isAll) : []
  return (
    <>
      <PageHead name="Orders" finding={finding}>
        {rest || 'You pay when you order, and accept or reject each answer.'}
      </PageHead>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {orders === undefined && loaded.slow ? <Skeleton /> : null}
      {orders && orders.length === 0 ? <OrderForm api={api} /> : null}
      {orders && orders.length > 0 ? (
        <>
          <Tiles orders={orders} isAll={isAll} />
          <p class="acts">
            <a class="btn main" href={hrefOf(['orders', 'new'])}>
              Order work
            </a>
          </p>
          {isAll ? null : (
            <p class="small muted gap">
              The latest 100 orders. The heading of a column links to all orders in that state.
            </p>
          )}
          <div class="pipeline">
            {stages.map((stage) => (
              <Column key={stage} stage={stage} orders={orders} offered={offered} now={now} />
            ))}
          </div>
          <EndedOrders orders={orders} offered={offered} now={now} />
        </>
      ) : null}
    </>
  )
}

const knownStatuses = new Map(Object.entries(orderStatusLabels))

/** Every order in one state, a hundred at a time. */
export const StageView = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const state = query.get('state') ?? ''
  const after = query.get('after') ?? undefined
  const wanted = new URLSearchParams({ limit: '100', status: state, ...(after ? { after } : {}) })
  const address = `/api/agents/orders?${wanted.toString()}`
  const loaded = useQuery(() => api.call<Page>('GET', address), address)
  const offered = useWorkflowCatalog(api)
  const page = loaded.value
  const name = isStage(state as OrderState)
    ? stageNames[state as Stage]
    : (knownStatuses.get(state)?.word ?? state)
  return (
    <>
      <p class="small">
        <a href={hrefOf(['orders'])}>All orders</a>
      </p>
      <h1>{name}</h1>
      <p class="lead muted" role="status">
        {page ? (page.orders.length === 0 ? 'No order is in this state.' : ' ') : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {page === undefined && loaded.slow ? <Skeleton /> : null}
      {page && page.orders.length > 0 ? (
        <section class="card pad" aria-label="Orders">
          <OrderRows orders={page.orders} offered={offered} now={Date.now()} />
        </section>
      ) : null}
      {page && page.nextCursor !== null ? (
        <p class="gap">
          <a class="btn" href={hrefOf(['orders'], { state, after: page.nextCursor })}>
            Show older orders
          </a>
        </p>
      ) : null}
    </>
  )
}
