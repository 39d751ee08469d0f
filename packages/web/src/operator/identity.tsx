import type { Api } from '../shared/api/client.ts'
import { useQuery } from '../shared/api/use-query.ts'
import type { Overview } from './wire.ts'

/** Who is signed in: the audit log records everything under this name, which rarely changes. */
export const OperatorIdentity = ({ api }: { api: Api }) => {
  const { value } = useQuery(() => api.call<Overview>('GET', '/operator/overview'), 'identity', 300_000)
  if (!value) return null
  return (
    <p class="agent">
      <span class="hidden">Operator: </span>
      <b>{value.operator.name}</b>
      {value.demo ? <span class="chip test">Demo data</span> : null}
      <span class="id" title={value.operator.operatorId}>
        {`${value.operator.operatorId.slice(0, 10)}…${value.operator.operatorId.slice(-4)}`}
      </span>
    </p>
  )
}
