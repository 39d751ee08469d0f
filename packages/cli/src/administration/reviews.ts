import type { Command } from 'commander'
import { operatorCall } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

const reviewPath = (agentId: string, orderId: string): string =>
  `/operator/agents/${encodeURIComponent(agentId)}/orders/${encodeURIComponent(orderId)}/review`

/** The review of orders of new buyers and of what workers reported, on the operators' listener. */
export const addReviews = (program: Command): void => {
  const reviews = program.command('reviews').description('review orders of new buyers, and reported ones')
  addOperator(reviews, 'list', 'list the orders that wait for a review, oldest first', 'reviews list').action(
    (options) => operatorCall(options, 'GET', '/operator/reviews?limit=100'),
  )
  addOperator(
    reviews,
    'read <agentId> <orderId>',
    'print the texts of an order, its reports, and the record of its buyer',
    'reviews read agt_0123 ord_0123',
  )
    .option('--mode <mode>', 'live or test', 'live')
    .action((agentId: string, orderId: string, options) =>
      operatorCall(
        options,
        'GET',
        `${reviewPath(agentId, orderId)}?mode=${encodeURIComponent(options.mode)}`,
      ),
    )
  addOperator(
    reviews,
    'approve <agentId> <orderId>',
    'let workers get an order; its reports are dismissed',
    'reviews approve agt_0123 ord_0123',
  )
    .option('--mode <mode>', 'live or test', 'live')
    .action((agentId: string, orderId: string, options) =>
      operatorCall(options, 'POST', reviewPath(agentId, orderId), {
        mode: options.mode,
        decision: 'approved',
      }),
    )
  addOperator(
    reviews,
    'refuse <agentId> <orderId>',
    'cancel and refund an order; the refusal weighs on its buyer for a year',
    "reviews refuse agt_0123 ord_0123 --reason 'it asks for passwords'",
  )
    .requiredOption('--reason <text>', 'reason, for the buyer and the audit log')
    .option('--mode <mode>', 'live or test', 'live')
    .action((agentId: string, orderId: string, options) =>
      operatorCall(options, 'POST', reviewPath(agentId, orderId), {
        mode: options.mode,
        decision: 'refused',
        reason: options.reason,
      }),
    )
}
