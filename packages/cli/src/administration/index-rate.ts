import type { Command } from 'commander'
import { operatorCall, queryOf } from '../command/operator.ts'
import { addLocal, addOperator } from '../command/options.ts'

const addIndex = (program: Command): void => {
  const index = program.command('index').description('close, explain and verify months of the VHH index')
  addOperator(
    index,
    'close [month]',
    'close the months that are due, or restate a closed one as its next revision',
    'index close',
    "index close 2026-10 --reason 'a refund came late'",
  )
    .option('--reason <text>', 'why the month is restated; it is signed and published')
    .action((month: string | undefined, options) =>
      operatorCall(options, 'POST', '/operator/index/close', { month, reason: options.reason }),
    )
  addOperator(
    index,
    'explain <month>',
    'show what a month was computed from: what was excluded, what each cluster counts with, the quantiles',
    'index explain 2026-10 --code VHH_labelling',
  )
    .option('--code <code>', 'a series; default: the composite VHH')
    .action((month: string, { code, ...remote }) =>
      operatorCall(remote, 'GET', `/operator/index/${encodeURIComponent(month)}?${queryOf({ code })}`),
    )
  addLocal(
    index,
    'verify <file>',
    'verify a downloaded month: its signature, the root of its inputs, and its value, computed again',
    'index verify vhh-2026-10.json --issuer https://pohf.example --jwks jwks.json',
  )
    .requiredOption('--issuer <url>', 'address of the service')
    .requiredOption('--jwks <file>', 'file with the public keys, the answer of /.well-known/jwks.json')
    .action(async (file: string, options) =>
      (await import('../proof/index-rate.ts')).verifyIndex(file, options),
    )
}

const addForwards = (program: Command): void => {
  const forwards = program.command('forwards').description('answer requests for capacity')
  addOperator(forwards, 'list', 'list requests for capacity, oldest first', 'forwards list --status quoted')
    .option('--status <status>', 'received (default), quoted, countersigned, invoiced or closed')
    .option('--cursor <cursor>', 'continue after the nextCursor of a list')
    .action(({ status, cursor, ...remote }) =>
      operatorCall(remote, 'GET', `/operator/forwards?${queryOf({ limit: '100', status, cursor })}`),
    )
  addOperator(
    forwards,
    'move <orderId> <status>',
    'move a request to quoted, countersigned, invoiced or closed',
    'forwards move fwd_0123 quoted --cents 250000',
    'forwards move fwd_0123 invoiced --invoice 2026-118',
  )
    .option('--cents <number>', 'price for all hours in US cents; required to quote')
    .option('--invoice <text>', 'number of the invoice in your bookkeeping; required to invoice')
    .option('--note <text>', 'a note for operators')
    .action((orderId: string, status: string, options) =>
      operatorCall(options, 'POST', `/operator/forwards/${encodeURIComponent(orderId)}/move`, {
        status,
        quotedUsdCents: options.cents === undefined ? undefined : Number(options.cents),
        invoiceRef: options.invoice,
        note: options.note,
      }),
    )
}

/** The index, and the requests for capacity that refer to it. */
export const addIndexAdministration = (program: Command): void => {
  addIndex(program)
  addForwards(program)
}
