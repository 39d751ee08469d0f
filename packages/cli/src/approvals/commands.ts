import type { Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addAgent, addLocal } from '../command/options.ts'

const loadApprovals = () => import('./approvals.ts')

const addRequest = (approvals: Command): void => {
  addAgent(
    approvals,
    'request <type>',
    'ask people to approve an action, exactly as it is in a file',
    'approvals request invoice.pay --action payment.json --approvers apv_0123,apv_4567 --quorum 2',
    'approvals request test.invoice_pay --action payment.json --approvers apv_test_approves --json',
  )
    .requiredOption('--action <file>', 'JSON object with the arguments; - reads standard input')
    .option('--approvers <ids>', 'ids of the people who may decide, comma-separated')
    .option('--group <name>', 'a group of approvers, in place of --approvers')
    .option('--quorum <number>', 'how many people must approve; default: what the action type requires')
    .option('--audience <agentId>', 'the agent that executes; default: your own')
    .option(
      '--request-id <text>',
      'your reference: the same one returns the same approval; default: a new one',
    )
    .option('--decide-by <time>', 'until when people can decide; default: in an hour')
    .option('--title <text>', 'your own words, which are shown last and as yours')
    .option('--summary <text>', 'the same, longer')
    .action(async (type: string, options) => (await loadApprovals()).request(type, options))
}

const addOthers = (approvals: Command): void => {
  addAgent(approvals, 'list', 'list your approvals, newest first', 'approvals list --status pending')
    .option('--status <status>', 'only pending, approved, denied, expired or consumed ones')
    .option('--type <type>', 'only of this action type')
    .option('--limit <number>', 'number of rows', '25')
    .option('--cursor <cursor>', 'continue where a list ended, with the same options')
    .action(async (options) => (await loadApprovals()).list(options))
  addAgent(
    approvals,
    'show <approvalId>',
    'show an approval as its approvers see it, and their decisions',
    'approvals show apl_0123 --json > approval.json',
  ).action(async (approvalId: string, options) => (await loadApprovals()).show(approvalId, options))
  addAgent(
    approvals,
    'consume <approvalId>',
    'use an approval, once, as its audience; verify it before and act after',
    'approvals consume apl_0123 --envelope-hash "$HASH"',
  )
    .requiredOption('--envelope-hash <hash>', 'of the envelope that you verified')
    .action(async (approvalId: string, options) => (await loadApprovals()).consume(approvalId, options))
}

const addVerify = (approvals: Command): void => {
  addLocal(
    approvals,
    'verify <file>',
    'verify the answer of approvals show --json by your own approvers and quorum; - reads standard input',
    'approvals verify approval.json --issuer https://pohf.example --audience agt_0123 --type invoice.pay --action payment.json --approvers apv_0123,apv_4567 --quorum 2',
  )
    .requiredOption('--issuer <url>', 'address of the service, as in the issuer of its credentials')
    .requiredOption('--audience <agentId>', 'the agent that executes')
    .requiredOption('--type <type>', 'type of the action')
    .requiredOption('--action <file>', 'JSON object with the arguments that you are about to use')
    .requiredOption('--approvers <ids>', 'ids of the people whom you accept, comma-separated')
    .requiredOption('--quorum <number>', 'how many of them must have approved')
    .option('--min-assurance <level>', 'low, substantial or high', 'low')
    .option('--status <demand>', 'check of the status list: require, if-present or skip', 'require')
    .option('--allow-test', 'accept test credentials, which prove nothing')
    .option('--jwks <file>', 'file with the public keys; no key is fetched')
    .action(async (file: string, options) => (await import('./verify.ts')).verifyFile(file, options))
}

const addAudit = (approvals: Command): void => {
  addLocal(
    approvals,
    'audit <file>',
    'verify an evidence pack of approvals: its signature, and that its figures follow from its counts',
    'approvals audit approvals.json --issuer https://pohf.example --jwks jwks.json',
  )
    .requiredOption('--issuer <url>', 'address of the service, as in the issuer of its credentials')
    .requiredOption('--jwks <file>', 'file with the public keys; no key is fetched')
    .action(async (file: string, options) => (await import('./report.ts')).verifyPack(file, options))
}

/** Actions that people approve before an agent does them. */
export const approvalsGroup: CommandGroup = {
  name: 'approvals',
  title: 'Approvals: people approve an action of an agent, exactly as it is',
  examples: [
    'approvals request invoice.pay --action payment.json --approvers apv_0123',
    'approve apl_0123 --wait 600',
    'approvals list --status pending',
  ],
  add: (program) => {
    const approvals = program
      .command('approvals')
      .description('ask people to approve actions, read and verify what they decided, and use it')
    addRequest(approvals)
    addOthers(approvals)
    addVerify(approvals)
    addAudit(approvals)
    addAgent(
      program,
      'approve <approvalId>',
      'show what an approver sees and the page where they decide; a terminal cannot decide',
      'approve apl_0123',
      'approve apl_0123 --wait 600',
    )
      .option('--wait <seconds>', 'wait so long for the decision')
      .action(async (approvalId: string, options) => (await loadApprovals()).approve(approvalId, options))
  },
}
