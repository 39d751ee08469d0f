import type { Payments } from '../payments/index.ts'
import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { BuyerDeps, WorkerDeps } from './deps.ts'
import { order } from './orders/create.ts'
import { operatorAppealDecide } from './operator/appeal-decide.ts'
import { operatorAppeals } from './operator/appeals.ts'
import { operatorOfferAccept } from './operator/offer-accept.ts'
import { operatorOfferDecline } from './operator/offer-decline.ts'
import { operatorOrders } from './operator/orders.ts'
import { operatorProduce, type OperatorDeps } from './operator/produce.ts'
import { operatorReview } from './operator/review.ts'
import { operatorReviews } from './operator/reviews.ts'
import { operatorReviewDecide } from './operator/review-decide.ts'
import { operatorWorkflowRetire } from './operator/workflow-retire.ts'
import { operatorWorkflowWrite } from './operator/workflow-write.ts'
import { operatorWorkflows } from './operator/workflows.ts'
import { orderCancel } from './orders/cancel.ts'
import { orderFund } from './orders/fund.ts'
import { orderRead } from './orders/read.ts'
import { orderResults } from './orders/results.ts'
import { ordersList } from './orders/list.ts'
import type { FindCredentialTokens } from './orders/present.ts'
import { unitAccept } from './units/accept.ts'
import { unitReject } from './units/reject.ts'
import { workerAppeal } from './workers/appeal.ts'
import { workerAssignment } from './workers/assignment.ts'
import { workerClaim } from './workers/claim.ts'
import { workerDeliver } from './workers/deliver.ts'
import { padResponseTime } from './workers/response-time.ts'
import { workerEarnings } from './workers/earnings.ts'
import { workerImage } from './workers/image.ts'
import { workerPayout } from './workers/payout.ts'
import { workerReport } from './workers/report.ts'
import { workerReturn } from './workers/return.ts'
import { workerTasks } from './workers/tasks.ts'
import { workflowsAvailable } from './workflows/available.ts'

/** What the wiring provides from modules that work does not import. */
export type WorkDeps = WorkerDeps &
  BuyerDeps & {
    readonly payments: Payments
    readonly findTokens: FindCredentialTokens
  }

/** The endpoints of the worker's pages. */
const workerRoutes = (deps: WorkerDeps): Route[] => [
  route('work.workers.tasks', (call) => workerTasks(deps.ctx, call.person)),
  route('work.workers.claim', (call) =>
    workerClaim(deps, call.person, { ...call.body, address: call.address }),
  ),
  route('work.workers.assignment', (call) =>
    workerAssignment(deps.ctx, call.person, call.params.assignmentId),
  ),
  route('work.workers.image', (call) => workerImage(deps, call.person, call.params)),
  route('work.workers.deliver', (call) =>
    padResponseTime(() => workerDeliver(deps, call.person, { ...call.params, ...call.body })),
  ),
  route('work.workers.return', (call) => workerReturn(deps, call.person, call.params.assignmentId)),
  route('work.workers.report', (call) => workerReport(deps, call.person, { ...call.params, ...call.body })),
  route('work.workers.appeal', (call) =>
    workerAppeal(deps.ctx, call.person, { ...call.params, ...call.body }),
  ),
  route('work.workers.earnings', (call) => workerEarnings(deps, call.person)),
  route('work.workers.payout', (call) => workerPayout(deps, call.person, call.body, call.storeResult)),
]

export const routes = (ctx: Ctx, deps: WorkDeps): Route[] => {
  const reviewDeps = { ctx, unitDeps: deps, findTokens: deps.findTokens }
  return [
    route('work.workflows.available', () => workflowsAvailable(deps)),
    route('work.orders.create', (call) => order(deps, call.agent, call.body, call.storeResult)),
    route('work.orders.fund', (call) =>
      orderFund(ctx, call.agent, { orderId: call.body.orderId, payments: deps.payments }),
    ),
    route('work.orders.list', (call) => ordersList(deps, call.agent, call.query)),
    route('work.orders.read', (call) => orderRead(deps, call.agent, call.params.orderId)),
    route('work.orders.results', (call) =>
      orderResults(ctx, call.agent, deps.findTokens, { ...call.params, ...call.query }),
    ),
    route('work.orders.cancel', (call) => orderCancel(deps, call.agent, call.params.orderId)),
    route('work.units.accept', (call) => unitAccept(reviewDeps, call.agent, call.params)),
    route('work.units.reject', (call) =>
      unitReject(reviewDeps, call.agent, { ...call.params, ...call.body }),
    ),
    ...workerRoutes(deps),
  ]
}

export const operatorRoutes = (operatorDeps: OperatorDeps): Route[] => {
  const { ctx } = operatorDeps
  return [
    route('work.operator.workflows', () => operatorWorkflows(ctx)),
    route('work.operator.workflow-write', (call) =>
      operatorWorkflowWrite(operatorDeps, call.operator, { ...call.params, ...call.body }),
    ),
    route('work.operator.workflow-retire', (call) =>
      operatorWorkflowRetire(operatorDeps, call.operator, call.params.workflowId),
    ),
    route('work.operator.orders', (call) => operatorOrders(ctx, call.query)),
    route('work.operator.offer-accept', (call) =>
      operatorOfferAccept(operatorDeps, call.operator, { ...call.params, ...call.body }),
    ),
    route('work.operator.offer-decline', (call) =>
      operatorOfferDecline(operatorDeps, call.operator, { ...call.params, ...call.body }),
    ),
    route('work.operator.appeals', (call) => operatorAppeals(ctx, call.query.limit)),
    route('work.operator.appeal-decide', (call) =>
      operatorAppealDecide(operatorDeps, call.operator, { ...call.params, ...call.body }),
    ),
    route('work.operator.reviews', (call) => operatorReviews(ctx, call.query.limit)),
    route('work.operator.review', (call) => operatorReview(ctx, { ...call.params, ...call.query })),
    route('work.operator.review-decide', (call) =>
      operatorReviewDecide(operatorDeps, call.operator, { ...call.params, ...call.body }),
    ),
    route('work.operator.produce', (call) =>
      operatorProduce(operatorDeps, call.operator, call.body, call.storeResult),
    ),
  ]
}
