import type { Command } from 'commander'
import { operatorCall } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

const payoutPath = (requestId: string, step: string): string =>
  `/operator/payouts/${encodeURIComponent(requestId)}/${step}`

/** The review of payouts, on the operators' listener. */
export const addPayouts = (program: Command): void => {
  const payouts = program.command('payouts').description('review payouts of Stars')
  addOperator(
    payouts,
    'list',
    'list payout requests, oldest first, with the risk and the account of each worker',
    'payouts list --status queued',
  )
    .option('--status <status>', 'only payouts in this state: queued, in_review, approved, paid or rejected')
    .action((options) => {
      const query = new URLSearchParams({ limit: '200' })
      if (options.status !== undefined) query.set('status', options.status)
      return operatorCall(options, 'GET', `/operator/payouts?${query.toString()}`)
    })
  addOperator(
    payouts,
    'review <requestId>',
    'start the review of a payout; prints the risk and the account of the worker',
    'payouts review por_0123',
  ).action((requestId: string, options) => operatorCall(options, 'POST', payoutPath(requestId, 'review')))
  addOperator(
    payouts,
    'approve <requestId>',
    'approve a payout that another operator reviewed',
    'payouts approve por_0123',
  ).action((requestId: string, options) => operatorCall(options, 'POST', payoutPath(requestId, 'approve')))
  addOperator(
    payouts,
    'pay <requestId>',
    'record that an approved payout was paid',
    'payouts pay por_0123 --reference bank-77',
  )
    .requiredOption('--reference <text>', 'reference of your payment')
    .option('--account <account>', 'the account that you paid: required for the payout of a worker')
    .action((requestId: string, options) =>
      operatorCall(options, 'POST', payoutPath(requestId, 'pay'), {
        paymentRef: options.reference,
        account: options.account,
      }),
    )
  addOperator(
    payouts,
    'reject <requestId>',
    'reject a payout; its Stars return to the user',
    "payouts reject por_0123 --reason 'the name does not match'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((requestId: string, options) =>
      operatorCall(options, 'POST', payoutPath(requestId, 'reject'), { reason: options.reason }),
    )
}
