import { askWorkflowId } from '@pohf/protocol'
import { extensionsForPayment, networkOf, usdcMicroOf } from '../payments/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { checkRefusals, type Refusals } from '../platform/http/refusals.ts'
import { hasPurchaseOfOrder, modeOf, payFor, questionResponseOf, type Product } from '../purchases/index.ts'
import { findWorkflow, lockOrderToPay } from '../work/index.ts'
import type { PayDeps } from './deps.ts'
import { findQuestion } from './read.ts'

// The payment of a question over HTTP 402. `purchases` takes the payment and settles it on the chain; this file says what
// is sold, to whom, and when a question takes a payment.

type PayRequest = {
  readonly questionId: string
  readonly payments: Parameters<typeof payFor>[1]['payments']
  readonly purchaseId: string | undefined
  readonly requestId: string
}

type Payable = {
  readonly hasChain: boolean
  readonly isOtherMode: boolean
  readonly network: string
  readonly state: 'payable' | 'not_waiting' | 'too_late'
  readonly hasPayment: boolean
}

const refuseWithoutChain = ({ hasChain }: Pick<Payable, 'hasChain'>) =>
  hasChain ? undefined : new Refusal('chain_unreachable', { headers: { 'retry-after': '60' } })
/** Test money never pays live work, and the reverse. The mode is that of the key. */
const refuseOtherMode = ({ isOtherMode, network }: Pick<Payable, 'isOtherMode' | 'network'>) =>
  isOtherMode
    ? new Refusal('order_conflict', {
        message: `This service settles on ${network}, which does not pay questions in the mode of your key.`,
      })
    : undefined
const chainRefusals: Refusals<Pick<Payable, 'hasChain' | 'isOtherMode' | 'network'>> = [
  ['chain_not_configured', refuseWithoutChain],
  ['network_of_other_mode', refuseOtherMode],
]

const refuseNotWaiting = ({ state }: Pick<Payable, 'state'>) =>
  state === 'not_waiting'
    ? new Refusal('order_conflict', {
        message:
          'This question does not wait for a payment: it was paid, was cancelled or has expired. Nothing was charged.',
      })
    : undefined
const refuseTooLate = ({ state }: Pick<Payable, 'state'>) =>
  state === 'too_late'
    ? new Refusal('order_conflict', {
        message:
          'It is too late to pay this question: nobody could claim it before its deadline. Nothing was charged.',
      })
    : undefined
const refuseSecondPayment = ({ hasPayment }: Pick<Payable, 'hasPayment'>) =>
  hasPayment
    ? new Refusal('purchase_conflict', {
        message: 'Another payment of this question is in progress. Nothing was charged for this one.',
      })
    : undefined
const orderRefusals: Refusals<Pick<Payable, 'state' | 'hasPayment'>> = [
  ['question_not_waiting', refuseNotWaiting],
  ['question_too_late', refuseTooLate],
  ['question_payment_in_progress', refuseSecondPayment],
]

/** Refuses where this deployment cannot take the payment of a question of this agent. */
export const requireChain = (
  { ctx, purchaseFlow }: Pick<PayDeps, 'ctx' | 'purchaseFlow'>,
  agent: Agent,
): void => {
  const network = networkOf(ctx.config)
  checkRefusals(chainRefusals, {
    hasChain: purchaseFlow !== undefined,
    isOtherMode: modeOf(network) !== agent.mode,
    network: network.name,
  })
}

type OrderKey = Pick<Agent, 'agentId' | 'mode'> & { readonly orderId: string }

/** Locks the order of a question that can be paid now, and refuses any other. */
const requirePayable = async (tx: Tx, key: OrderKey) => {
  const locked = await lockOrderToPay(tx, key)
  if (!locked) throw new Refusal('not_found', { message: 'No such question.' })
  checkRefusals(orderRefusals, { state: locked.state, hasPayment: await hasPurchaseOfOrder(tx, key) })
  return locked.order
}

const makeQuestionProduct = (deps: PayDeps, agent: Agent, key: OrderKey) => {
  const { ctx } = deps
  const { agentId, mode, orderId } = key
  return {
    workflowId: askWorkflowId,
    subject: orderId,
    path: `/api/agents/questions/${orderId}/pay`,
    extensions: extensionsForPayment,
    owner: { agentId, mode },
    isSettled: true,
    isExact: true,
    findOffer: () =>
      inTransaction(ctx, 'system', async (tx) => {
        requireChain(deps, agent)
        const order = await requirePayable(tx, key)
        const title = (await findWorkflow(tx, askWorkflowId))?.title ?? askWorkflowId
        return { title, amountUsdcMicro: usdcMicroOf(order.totalUsdCents), outcome: 'settles' }
      }),
    ready: async () => undefined,
    isForgotten: async () => false,
    reserve: async (tx) => {
      await requirePayable(tx, key)
      return { unitRef: null, frozen: null, orderId }
    },
    respond: (purchase, caller) =>
      inTransaction(ctx, 'system', async (tx) => {
        const question = await findQuestion(tx, deps, key)
        if (!question)
          throw new Error(`question ${orderId} not found after the payment ${purchase.purchaseId}`)
        return questionResponseOf(ctx.config, purchase, { caller, question })
      }),
  } satisfies Product
}

/** Takes the payment of a question over HTTP 402. */
export const pay = async (deps: PayDeps, agent: Agent, request: PayRequest) => {
  const { agentId, mode } = agent
  const { questionId, payments, purchaseId, requestId } = request
  const key = { agentId, mode, orderId: questionId }
  // First: to another agent the question is unknown, whatever it sends.
  const question = await inTransaction(deps.ctx, 'system', (tx) => findQuestion(tx, deps, key))
  if (!question) throw new Refusal('not_found', { message: 'No such question.' })
  const product = makeQuestionProduct(deps, agent, key)
  return payFor(deps, { product, payments, purchaseIds: [purchaseId], agent, requestId })
}
