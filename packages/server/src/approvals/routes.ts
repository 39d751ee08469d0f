import { route, type Route } from '../platform/http/call.ts'
import { approversInvite } from './administration/approvers-invite.ts'
import { approversList } from './administration/approvers-list.ts'
import { approversRemove } from './administration/approvers-remove.ts'
import { groupsList } from './administration/groups-list.ts'
import { groupsRemove } from './administration/groups-remove.ts'
import { groupsWrite } from './administration/groups-write.ts'
import { typesList } from './administration/types-list.ts'
import { typesRetire } from './administration/types-retire.ts'
import { typesWrite } from './administration/types-write.ts'
import { decide } from './decisions/decide.ts'
import { figures } from './decisions/figures.ts'
import { list as listDecisions } from './decisions/list.ts'
import { options } from './decisions/options.ts'
import { read as readDecision } from './decisions/read.ts'
import type { ApprovalsDeps } from './deps.ts'
import { effectivenessRoutes } from './effectiveness/routes.ts'
import { consume } from './requests/consume.ts'
import { create } from './requests/create.ts'
import { list } from './requests/list.ts'
import { read } from './requests/read.ts'

const administrationRoutes = (deps: ApprovalsDeps): Route[] => {
  const { ctx } = deps
  return [
    route('approvals.administration.types-list', (call) => typesList(ctx, call.agent)),
    route('approvals.administration.types-write', (call) =>
      typesWrite(ctx, call.agent, { ...call.params, ...call.body }),
    ),
    route('approvals.administration.types-retire', (call) => typesRetire(ctx, call.agent, call.params.type)),
    route('approvals.administration.approvers-list', (call) => approversList(ctx, call.agent)),
    route('approvals.administration.approvers-invite', (call) =>
      approversInvite(deps, call.agent, call.body),
    ),
    route('approvals.administration.approvers-remove', (call) =>
      approversRemove(ctx, call.agent, call.params.approver),
    ),
    route('approvals.administration.groups-list', (call) => groupsList(ctx, call.agent)),
    route('approvals.administration.groups-write', (call) =>
      groupsWrite(ctx, call.agent, { ...call.params, ...call.body }),
    ),
    route('approvals.administration.groups-remove', (call) =>
      groupsRemove(ctx, call.agent, call.params.name),
    ),
  ]
}

const requestRoutes = (deps: ApprovalsDeps): Route[] => [
  route('approvals.requests.create', (call) => create(deps, call.agent, call.body)),
  route('approvals.requests.list', (call) => list(deps.ctx, call.agent, call.query)),
  route('approvals.requests.read', (call) => read(deps, call.agent, call.params.approvalId)),
  route('approvals.requests.consume', (call) => consume(deps, call.agent, { ...call.params, ...call.body })),
]

const decisionRoutes = (deps: ApprovalsDeps): Route[] => [
  route('approvals.decisions.list', (call) => listDecisions(deps, call.person)),
  route('approvals.decisions.figures', (call) => figures(deps.ctx, call.person)),
  route('approvals.decisions.read', (call) => readDecision(deps, call.person, call.params.approvalId)),
  route('approvals.decisions.options', (call) =>
    options(deps, call.person, { ...call.params, ...call.body, sessionId: call.body.sessionId }),
  ),
  route('approvals.decisions.decide', (call) => decide(deps, call.person, { ...call.params, ...call.body })),
]

export const routes = (deps: ApprovalsDeps): Route[] => [
  ...administrationRoutes(deps),
  ...requestRoutes(deps),
  ...decisionRoutes(deps),
  ...effectivenessRoutes(deps),
]
