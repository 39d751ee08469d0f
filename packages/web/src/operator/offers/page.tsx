import type { OperatorOrder } from '@pohf/protocol'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { orderStatusLabels, formatUsd } from '../../shared/orders/messages.ts'
import { Skeleton, ActionResult, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { stepThroughRows } from '../../shared/lists/list-view.tsx'
import { OfferDrawer } from './offer.tsx'

type Page = { readonly orders: readonly OperatorOrder[]; readonly nextCursor: string | null }

const Row = ({ order, href, now }: { order: OperatorOrder; href: string; now: number }) => (
  <tr>
    <th scope="row" class="address">
      <a href={href}>{order.taskType}</a>
    </th>
    <td>
      <span class={`chip ${order.waitsForOperator ? 'warn' : orderStatusLabels[order.status].tone}`}>
        {order.waitsForOperator ? 'waits for you' : orderStatusLabels[order.status].word}
      </span>
    </td>
    <td class="num" data-label="Units">
      {order.quantity.toLocaleString('en')}
    </td>
    <td class="num" data-label="Total, USD">
      {formatUsd(order.totalUsd).replace('$', '')}
    </td>
    <td>
      <span class={`chip ${order.mode === 'test' ? 'test' : ''}`}>{order.mode}</span>
    </td>
    <td data-label="Order">
      <CopyId value={order.orderId} label="order" />
    </td>
    <td>
      <Moment at={order.createdAt} now={now} />
    </td>
  </tr>
)

const headlineOf = ({ orders, nextCursor }: Page): string => {
  if (orders.length === 0) return 'No offer waits for a decision.'
  const count = pluralize(orders.length, 'order waits', 'orders wait')
  return `${nextCursor === null ? count : `More than ${count}`} for a decision.`
}

const OrderTable = (props: { orders: readonly OperatorOrder[]; hrefOfOrder: (id: string) => string }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Orders">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col" class="num">
              Units
            </th>
            <th scope="col" class="num">
              Total, USD
            </th>
            <th scope="col">Mode</th>
            <th scope="col">Order</th>
            <th scope="col">Ordered, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {props.orders.map((one) => (
            <Row key={one.orderId} order={one} href={props.hrefOfOrder(one.orderId)} now={now} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

const Filters = ({ all }: { all: boolean }) => (
  <nav class="filters" aria-label="Which orders">
    <a href={hrefOf(['orders'])} {...(all ? {} : { 'aria-current': 'true' as const })}>
      waiting for you
    </a>
    <a href={hrefOf(['orders'], { show: 'all' })} {...(all ? { 'aria-current': 'true' as const } : {})}>
      all
    </a>
  </nav>
)

/** Page "Orders": what buyers offer in their own words or at their own price. */
export const OffersPage = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const all = query.get('show') === 'all'
  const after = query.get('after') ?? undefined
  const chosen = query.get('order') ?? undefined
  const parameters = new URLSearchParams({
    limit: '100',
    ...(all ? {} : { waiting: '1' }),
    ...(after === undefined ? {} : { after }),
  })
  const address = `/operator/orders?${parameters.toString()}`
  const loaded = useQuery(() => api.call<Page>('GET', address), address)
  const action = useAction(loaded.refetch)
  const page = loaded.value
  const hrefWith = (order: string | undefined) =>
    hrefOf(['orders'], { show: all ? 'all' : undefined, after, order })
  const order = page?.orders.find(({ orderId }) => orderId === chosen)
  return (
    <>
      <h1>Orders</h1>
      <p class="lead muted" role="status">
        {page ? (all ? 'Orders of all agents, newest first.' : headlineOf(page)) : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      <Filters all={all} />
      <ActionResult message={action.message} error={undefined} />
      {page === undefined && loaded.slow ? <Skeleton /> : null}
      {page && page.orders.length === 0 ? (
        <section class="card pad">
          <p class="muted">
            An order waits here when its buyer describes the task in their own words, or, in test mode, offers
            less than the listed price. Nothing to do until then.
          </p>
        </section>
      ) : null}
      {page && page.orders.length > 0 ? <OrderTable orders={page.orders} hrefOfOrder={hrefWith} /> : null}
      {page && page.nextCursor !== null ? (
        <p class="gap">
          <a class="btn" href={hrefOf(['orders'], { show: all ? 'all' : undefined, after: page.nextCursor })}>
            Show older orders
          </a>
        </p>
      ) : null}
      {chosen !== undefined && order ? (
        <OfferDrawer key={chosen} api={api} order={order} action={action} back={hrefWith(undefined)} />
      ) : null}
    </>
  )
}
