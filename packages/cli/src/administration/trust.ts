import { Option, type Command } from 'commander'
import { operatorCall } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

/** Adds `pohf trust`: the roots whose agents may order without an API key. */
export const addTrust = (program: Command): void => {
  const trust = program.command('trust').description('manage whose agents may order without an API key')
  addOperator(
    trust,
    'add <kind> <name>',
    'trust a key directory (by its origin), the key set of a network (by a name) or an issuer of mandates (by its iss); the kind is directory, jwks or issuer',
    "trust add directory https://agent.example --mode test --reason 'contract 12'",
  )
    .option('--keys-url <url>', 'address of the key set, for jwks and issuer')
    .addOption(
      new Option('--mode <mode>', 'mode of all its orders').choices(['live', 'test']).makeOptionMandatory(),
    )
    .option('--require-digest', 'refuse signatures that do not cover the body')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((kind: string, name: string, options) =>
      operatorCall(options, 'POST', '/operator/trust', {
        kind,
        name,
        ...(options.keysUrl === undefined ? {} : { keysUrl: options.keysUrl }),
        mode: options.mode,
        requireDigest: options.requireDigest === true,
        reason: options.reason,
      }),
    )
  addOperator(trust, 'list', 'list the trust roots', 'trust list').action((options) =>
    operatorCall(options, 'GET', '/operator/trust'),
  )
  addOperator(
    trust,
    'remove <kind> <name>',
    'remove a trust root: its agents order no more, and their order tokens end',
    "trust remove directory https://agent.example --reason 'contract ended'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((kind: string, name: string, options) =>
      operatorCall(options, 'POST', '/operator/trust/remove', { kind, name, reason: options.reason }),
    )
}
