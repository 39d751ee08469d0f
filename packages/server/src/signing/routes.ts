import { route, type Audit, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { jwks } from './jwks.ts'
import { keysCheck, type ListStored } from './keys-check.ts'
import { keysOnchain } from './keys-onchain.ts'
import { keysList } from './keys-list.ts'
import { keysRevoke } from './keys-revoke.ts'
import { keysRotate } from './keys-rotate.ts'
import { restoreApply } from './restore/apply.ts'
import type { RestoreGuard } from './restore/guard.ts'
import type { RestoreParts } from './restore/parts.ts'
import { restorePlan } from './restore/plan.ts'
import type { Signer } from './signer-client.ts'

export const routes = (signer: Signer): Route[] => [
  route('signing.jwks', (call) => jwks(signer, call.header('if-none-match'))),
]

export const operatorRoutes = (
  ctx: Ctx,
  signer: Signer,
  deps: {
    readonly audit: Audit
    readonly listStored: ListStored
    readonly guard: RestoreGuard
    readonly parts: RestoreParts
  },
): Route[] => [
  route('signing.keys-list', () => keysList(signer)),
  route('signing.keys-onchain', () => keysOnchain(signer)),
  route('signing.keys-check', (call) => keysCheck(ctx, { signer, listStored: deps.listStored }, call.query)),
  route('signing.keys-rotate', (call) =>
    keysRotate({ ctx, signer, audit: deps.audit }, call.operator, call.body.purpose),
  ),
  route('signing.keys-revoke', (call) =>
    keysRevoke({ ctx, signer, audit: deps.audit }, call.operator, { ...call.params, ...call.body }),
  ),
  route('signing.restore.plan', () => restorePlan({ ctx, signer, ...deps })),
  route('signing.restore.apply', (call) =>
    restoreApply({ ctx, signer, ...deps }, call.operator, {
      published: call.body.published ?? [],
      credentials: call.body.credentials ?? [],
      without: call.body.without ?? [],
    }),
  ),
]
