import type { Command } from 'commander'
import { operatorCall, queryOf } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

const addRefunds = (program: Command): void => {
  const refunds = program.command('refunds').description('manage card refunds')
  addOperator(refunds, 'list', 'list refunds and their states', 'refunds list --state failed')
    .option('--state <state>', 'only refunds in this state: wanted, sent, done or failed')
    .option('--agent <agentId>', 'only refunds of this agent')
    .action(({ state, agent: agentId, ...remote }) =>
      operatorCall(remote, 'GET', `/operator/refunds?${queryOf({ limit: '200', state, agentId })}`),
    )
  addOperator(
    refunds,
    'give <checkoutId>',
    'refund a checkout, as far as it is refundable',
    "refunds give chk_0123 --reason 'paid twice'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .option('--cents <number>', 'amount in US cents; default: all that is refundable')
    .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
    .action((checkoutId: string, options) =>
      operatorCall(options, 'POST', '/operator/refunds', {
        checkoutId,
        reason: options.reason,
        ...(options.cents === undefined ? {} : { amountUsdCents: Number(options.cents) }),
      }),
    )
  addOperator(refunds, 'retry <refundId>', 'retry a failed refund', 'refunds retry rfd_0123').action(
    (refundId: string, options) =>
      operatorCall(options, 'POST', `/operator/refunds/${encodeURIComponent(refundId)}/retry`),
  )
}

/** Refunds, and the checks of credits and ledger. */
export const addMoney = (program: Command): void => {
  addRefunds(program)
  addOperator(
    program.command('credits').description('check credits'),
    'check',
    'compare card payments with posted credits; exit code 1: they differ',
    'credits check',
  ).action((options) => operatorCall(options, 'GET', '/operator/credits/check'))
  addOperator(
    program.command('ledger').description('check the ledger'),
    'check',
    'reconcile the ledger now; exit code 1: there is drift',
    'ledger check --whole',
  )
    .option('--whole', 'check every line, not only the new ones')
    .action((options) =>
      operatorCall(options, 'GET', `/operator/ledger/check${options.whole ? '?whole=1' : ''}`),
    )
}
