import type { Api } from '../../shared/api/client.ts'
import { NewOrderView } from './order-form.tsx'
import { OrderView } from './order.tsx'
import { PipelineView, StageView } from './pipeline.tsx'

type OrdersPageProps = {
  readonly api: Api
  readonly issuer: string
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

/** Page "Orders": the pipeline, one state of it, one order, or a new one. */
export const OrdersPage = ({ api, issuer, rest, query }: OrdersPageProps) => {
  const [id] = rest
  if (id === 'new') return <NewOrderView api={api} />
  if (id !== undefined) return <OrderView key={id} api={api} issuer={issuer} id={id} query={query} />
  const state = query.get('state')
  return state === null ? <PipelineView api={api} /> : <StageView key={state} api={api} query={query} />
}
