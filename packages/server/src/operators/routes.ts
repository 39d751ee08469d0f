import { route, type Route } from '../platform/http/call.ts'
import { pageRequestOf } from '../platform/http/authenticate.ts'
import { audit } from './audit.ts'
import { create } from './create.ts'
import type { OperatorsDeps } from './deps.ts'
import { list } from './list.ts'
import { overview, type OverviewDeps } from './overview.ts'
import { passkeysList } from './passkeys/list.ts'
import { passkeyOptions } from './passkeys/options.ts'
import { passkeyRegister } from './passkeys/register.ts'
import { passkeyRemove } from './passkeys/remove.ts'
import { passkeySignInOptions } from './passkeys/sign-in-options.ts'
import { passkeySignIn } from './passkeys/sign-in.ts'
import { revoke } from './revoke.ts'
import type { Bearers } from './sessions/bearer.ts'
import { sessionEnd } from './sessions/end.ts'
import { sessionsList } from './sessions/list.ts'
import { signOut } from './sessions/sign-out.ts'
import { token } from './sessions/token.ts'

export const operatorRoutes = (deps: OperatorsDeps & OverviewDeps, bearers: Bearers): Route[] => {
  const { ctx } = deps
  return [
    route('operators.overview', (call) => overview(deps, call.operator)),
    route('operators.list', () => list(ctx)),
    route('operators.create', (call) => create(ctx, call.operator.operatorId, call.body.name)),
    route('operators.revoke', (call) => revoke(ctx, call.operator, call.params.operatorId)),
    route('operators.audit', (call) => audit(ctx, call.query)),
    route('operators.passkeys.sign-in-options', (call) => passkeySignInOptions(deps, pageRequestOf(call))),
    route('operators.passkeys.sign-in', (call) =>
      passkeySignIn(deps, pageRequestOf(call), call.body.credential),
    ),
    route('operators.sessions.sign-out', (call) => signOut(deps, pageRequestOf(call))),
    route('operators.sessions.token', (call) => token(ctx, bearers, call.operator, call.body.active)),
    route('operators.passkeys.list', (call) => passkeysList(ctx, call.operator)),
    route('operators.passkeys.options', (call) => passkeyOptions(deps, call.operator)),
    route('operators.passkeys.register', (call) => passkeyRegister(deps, call.operator, call.body)),
    route('operators.passkeys.remove', (call) => passkeyRemove(ctx, call.operator, call.params.passkeyId)),
    route('operators.sessions.list', (call) => sessionsList(ctx, call.operator)),
    route('operators.sessions.end', (call) => sessionEnd(ctx, call.operator, call.params.sessionId)),
  ]
}
