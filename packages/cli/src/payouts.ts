import type { Command } from 'commander'
import { operatorCall } from './operator.ts'

const payoutPath = (requestId: string, step: string): string =>
  `/operator/payouts/${encodeURIComponent(requestId)}/${step}`

/** The review of payouts, on the operators' listener. */
export const addPayouts = (program: Command, operatorCommand: (command: Command) => Command): void => {
  const payouts = program.command('payouts').description('review payouts of Stars')
  operatorCommand(payouts.command('list'))
    .description('list payout requests, oldest first, with the risk and the account of each worker')
    .option('--status <status>', 'only payouts in this state: queued, in_review, approved, paid or rejected')
    .action((options) => {
      const query = new URLSearchParams({ limit: '200' })
      if (options.status !== undefined) query.set('status', options.status)
      return operatorCall(options, 'GET', `/operator/payouts?${query.toString()}`)
    })
  operatorCommand(payouts.command('review <requestId>'))
    .description('start the review of a payout; prints the risk and the account of the worker')
    .action((requestId: string, options) => operatorCall(options, 'POST', payoutPath(requestId, 'review')))
  operatorCommand(payouts.command('approve <requestId>'))
    .description('approve a payout that another operator reviewed')
    .action((requestId: string, options) => operatorCall(options, 'POST', payoutPath(requestId, 'approve')))
  operatorCommand(payouts.command('pay <requestId>'))
    .description('record that an approved payout was paid')
    .requiredOption('--reference <text>', 'reference of your payment')
    .option('--account <account>', 'the account that you paid: required for the payout of a worker')
    .action((requestId: string, options) =>
      operatorCall(options, 'POST', payoutPath(requestId, 'pay'), {
        paymentRef: options.reference,
        account: options.account,
      }),
    )
  operatorCommand(payouts.command('reject <requestId>'))
    .description('reject a payout; its Stars return to the user')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((requestId: string, options) =>
      operatorCall(options, 'POST', payoutPath(requestId, 'reject'), { reason: options.reason }),
    )
}
