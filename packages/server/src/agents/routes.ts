import { route, type Audit, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Authenticator } from './authenticate.ts'
import { emailConfirm } from './email-confirm.ts'
import { emailResend } from './email-resend.ts'
import { keysCreate } from './keys/create.ts'
import { keysList } from './keys/list.ts'
import { keysRecover, type IsInAccount } from './keys/recover.ts'
import { keysRecoverComplete } from './keys/recover-complete.ts'
import { keysRevoke } from './keys/revoke.ts'
import { keysRotate } from './keys/rotate.ts'
import { operatorConfirm } from './operator-confirm.ts'
import { operatorList } from './operator-list.ts'
import { operatorRead, type ReadHoldings } from './operator-read.ts'
import { operatorSuspend } from './operator-suspend.ts'
import { profile } from './profile.ts'
import { profileUpdate } from './profile-update.ts'
import { register } from './register.ts'

/** Clears the cache of keys after a change to them or to the policy has committed. */
const clearCacheAfter = async <T>(authenticator: Authenticator, work: Promise<T>): Promise<T> => {
  const result = await work
  authenticator.clearCache()
  return result
}

export const routes = (ctx: Ctx, authenticator: Authenticator, isInAccount: IsInAccount): Route[] => [
  route('agents.register', (call) => register(ctx, { ...call.body, address: call.address })),
  route('agents.profile', (call) => profile(ctx, call.agent)),
  route('agents.profile-update', (call) =>
    clearCacheAfter(authenticator, profileUpdate(ctx, call.agent, call.body)),
  ),
  route('agents.email-confirm', (call) => emailConfirm(ctx, call.body.token)),
  route('agents.email-resend', (call) => emailResend(ctx, call.agent)),
  route('agents.keys.list', (call) => keysList(ctx, call.agent)),
  route('agents.keys.create', (call) => keysCreate(ctx, call.agent, call.body.scopes)),
  route('agents.keys.rotate', (call) =>
    clearCacheAfter(authenticator, keysRotate(ctx, call.agent, call.body)),
  ),
  route('agents.keys.revoke', (call) =>
    clearCacheAfter(authenticator, keysRevoke(ctx, call.agent, call.body.keyId)),
  ),
  route('agents.keys.recover', (call) => keysRecover(ctx, isInAccount, call.body.contactEmail)),
  route('agents.keys.recover-complete', (call) =>
    clearCacheAfter(authenticator, keysRecoverComplete(ctx, isInAccount, call.body.token)),
  ),
]

export const operatorRoutes = (
  ctx: Ctx,
  authenticator: Authenticator,
  { audit, readHoldings }: { readonly audit: Audit; readonly readHoldings: ReadHoldings },
): Route[] => [
  route('agents.operator-list', (call) => operatorList(ctx, call.query)),
  route('agents.operator-read', (call) => operatorRead(ctx, readHoldings, call.params.agentId)),
  route('agents.operator-confirm', (call) =>
    operatorConfirm(ctx, audit, call.operator, { ...call.params, ...call.body }),
  ),
  route('agents.operator-suspend', (call) =>
    clearCacheAfter(
      authenticator,
      operatorSuspend(ctx, audit, call.operator, { ...call.params, ...call.body }),
    ),
  ),
]
