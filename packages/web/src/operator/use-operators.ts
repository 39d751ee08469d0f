import type { Api } from '../shared/api/client.ts'
import { useQuery, type QueryState } from '../shared/api/use-query.ts'
import type { Operators, Overview } from './wire.ts'

const refreshMs = 10_000

export const useOverview = (api: Api): QueryState<Overview> =>
  useQuery(() => api.call<Overview>('GET', '/operator/overview'), 'overview', refreshMs)

/** All operators, also revoked ones, whose names are still in the log. They change rarely. */
export const useOperators = (api: Api): Operators['operators'] =>
  useQuery(() => api.call<Operators>('GET', '/operator/operators'), 'operators', 60_000).value?.operators ??
  []

/** The name of an operator for a reader. The log has `machine` for commands on the machine of the server. */
export const operatorName = (operators: Operators['operators'], operatorId: string): string =>
  operatorId === 'machine'
    ? 'the command line'
    : (operators.find((one) => one.operatorId === operatorId)?.name ?? operatorId)
