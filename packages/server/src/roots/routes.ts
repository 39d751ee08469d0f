import { route, type Route } from '../platform/http/call.ts'
import { operatorBudget, type BudgetDeps } from './operator-budget.ts'
import { operatorReinstate } from './operator-reinstate.ts'
import { operatorSites } from './operator-sites.ts'
import { operatorSuspend, type SuspendDeps } from './operator-suspend.ts'
import { operatorSuspended } from './operator-suspended.ts'

export const operatorRoutes = (deps: BudgetDeps & SuspendDeps): Route[] => [
  route('roots.operator-budget', (call) =>
    operatorBudget(deps, call.operator, { ...call.params, ...call.body }),
  ),
  route('roots.operator-sites', (call) => operatorSites(deps.ctx, call.query)),
  route('roots.operator-suspended', (call) => operatorSuspended(deps.ctx, call.query)),
  route('roots.operator-suspend', (call) => operatorSuspend(deps, call.operator, call.body)),
  route('roots.operator-reinstate', (call) => operatorReinstate(deps, call.operator, call.body)),
]
