import type { Ctx } from '../platform/ops/context.ts'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import { readDocsPages } from './docs-pages.ts'
import type { PaymentOptions } from './manifest.ts'
import { makeSurfaceParts, type SurfaceParts } from './surface-parts.ts'
import { askHuman } from './tools/ask-human.ts'
import { commissionWork } from './tools/commission-work.ts'
import { fundOrder } from './tools/fund-order.ts'
import { listVerifiedWork } from './tools/list-verified-work.ts'
import { purchaseVerifiedHumanTask } from './tools/purchase-verified-human-task.ts'
import { requestApproval } from './tools/request-approval.ts'
import type { Tool } from './tools/tool.ts'
import { verifyCredential } from './tools/verify-credential.ts'

export const workTools: readonly Tool[] = [
  listVerifiedWork,
  commissionWork,
  fundOrder,
  verifyCredential,
  purchaseVerifiedHumanTask,
  askHuman,
  requestApproval,
]

/** The surface for finding, ordering, buying and checking human work. */
export const mcp = (ctx: Ctx, dispatcher: Dispatcher, { walletMode }: PaymentOptions): SurfaceParts =>
  makeSurfaceParts({
    ctx,
    dispatcher,
    name: 'pohf',
    title: 'PoHF: verified human work',
    instructions: `Find, order or buy work by verified humans, ask a person, get an action approved, and check credentials. Anonymous tools need nothing; for the others send Authorization: Bearer <API key>. Keys come from register_agent at ${ctx.config.BASE_URL}/mcp/identity.`,
    tools: workTools,
    docs: readDocsPages(),
    walletMode,
  })
