import { route, type Audit, type Route } from '../platform/http/call.ts'
import type { Progress } from '../platform/queue/progress.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { bindTransaction, type BindDeps } from './binding/bind.ts'
import { makeForgingTable } from './forging/table.ts'
import { list } from './issued/list.ts'
import { read } from './issued/read.ts'
import { makeSiteverify, type SiteverifyDeps } from './siteverify.ts'
import { operatorReinstate } from './status/operator-reinstate.ts'
import { operatorRevoke } from './status/operator-revoke.ts'
import { operatorSuspend } from './status/operator-suspend.ts'
import { makeStatusList, type StatusListDeps } from './status/list.ts'
import { makeVerifyQueue } from './verify-batch.ts'
import { verifyPersonhood } from './verify-personhood.ts'

export const routes = (
  deps: BindDeps & SiteverifyDeps & StatusListDeps,
  verifyProgress: Progress,
): Route[] => {
  const verify = makeVerifyQueue(deps, verifyProgress)
  const siteverify = makeSiteverify(deps, verify)
  const statusList = makeStatusList(deps)
  const forgingTable = makeForgingTable(deps.ctx, deps.signer, deps.forging)
  return [
    route('credentials.verify', (call) => verify({ agent: call.agent, input: call.body })),
    // The fields `secret` and `remoteip` are left out: authentication has read the secret, and nothing reads remoteip.
    route('credentials.siteverify', ({ agent, body }) =>
      siteverify(agent, {
        sessionId: body.response ?? '',
        site: body.sitekey || undefined,
        idempotencyKey: body.idempotency_key ?? undefined,
      }),
    ),
    route('credentials.verify-personhood', (call) => verifyPersonhood(deps, call.agent, call.body)),
    route('credentials.binding.bind', (call) => bindTransaction(deps, call.agent, call.body)),
    route('credentials.issued.list', (call) => list(deps.ctx, call.agent, call.query)),
    route('credentials.issued.read', (call) => read(deps.ctx, call.agent, call.params.credentialId)),
    route('credentials.forging.table', (call) => forgingTable(call.header('if-none-match'))),
    route('credentials.status.list', (call) => statusList(call.params.list, call.header('if-none-match'))),
  ]
}

export const operatorRoutes = (ctx: Ctx, audit: Audit): Route[] => {
  const act = { ctx, audit }
  return [
    route('credentials.status.operator-revoke', (call) =>
      operatorRevoke(act, call.operator, { ...call.params, ...call.body }),
    ),
    route('credentials.status.operator-suspend', (call) =>
      operatorSuspend(act, call.operator, { ...call.params, ...call.body }),
    ),
    route('credentials.status.operator-reinstate', (call) =>
      operatorReinstate(act, call.operator, { ...call.params, ...call.body }),
    ),
  ]
}
