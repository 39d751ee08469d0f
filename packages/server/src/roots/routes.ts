import { route, type Route } from '../platform/http/call.ts'
import { operatorBudget, type BudgetDeps } from './operator-budget.ts'
import { operatorReinstate } from './operator-reinstate.ts'
import { operatorSuspend, type SuspendDeps } from './operator-suspend.ts'

export const operatorRoutes = (deps: BudgetDeps & SuspendDeps): Route[] => [
  route('roots.operator-budget', (call) =>
    operatorBudget(deps, call.operator, { ...call.params, ...call.body }),
  ),
  route('roots.operator-suspend', (call) => operatorSuspend(deps, call.operator, call.body)),
  route('roots.operator-reinstate', (call) => operatorReinstate(deps, call.operator, call.body)),
]
