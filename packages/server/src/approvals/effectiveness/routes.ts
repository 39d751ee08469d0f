import { route, type Route } from '../../platform/http/call.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { knownBadCreate } from './known-bad-create.ts'
import { knownBadList } from './known-bad-list.ts'
import { pack } from './pack.ts'
import { report } from './report.ts'
import { settingsRead } from './settings-read.ts'
import { settingsWrite } from './settings-write.ts'

export const effectivenessRoutes = (deps: ApprovalsDeps): Route[] => [
  route('approvals.effectiveness.settings-read', (call) => settingsRead(deps.ctx, call.agent)),
  route('approvals.effectiveness.settings-write', (call) =>
    settingsWrite(deps.ctx, call.agent, call.body, call.storeResult),
  ),
  route('approvals.effectiveness.report', (call) => report(deps.ctx, call.agent, call.query)),
  route('approvals.effectiveness.pack', (call) => pack(deps, call.agent, call.query)),
  route('approvals.effectiveness.known-bad-list', (call) => knownBadList(deps.ctx, call.agent, call.query)),
  route('approvals.effectiveness.known-bad-create', (call) =>
    knownBadCreate(deps, call.agent, call.body, call.storeResult),
  ),
]
