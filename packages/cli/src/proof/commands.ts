import { Option, type Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addList, printList, type ListOptions } from '../command/lists.ts'
import { operatorCall } from '../command/operator.ts'
import { addAgent, addLocal, addOperator } from '../command/options.ts'
import { credentialList, sessionList } from './lists.ts'

const verifyExample =
  'verify "$JWT" --issuer https://pohf.example --kinds view --min-assurance low --min-quality 0.6'

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
const approvalOption = (flags: string, description: string): Option =>
  new Option(flags, description).helpGroup('For the kind approval:')

const addVerify = (program: Command): void => {
  addLocal(
    program,
    'verify <jwt>',
    'verify a credential against your policy; - reads it from standard input',
    verifyExample,
    'verify - --issuer https://pohf.example --kinds work --min-assurance low --min-quality 0 --jwks jwks.json --status skip',
    'verify - --issuer https://pohf.example --kinds personhood --min-assurance high --min-quality 0 --min-forging-human F2',
    'verify - --issuer https://pohf.example --kinds approval --min-assurance low --min-quality 0 --enrolled-by agt_0123 --min-approvers 2 --key-bound',
  )
    .requiredOption('--issuer <url>', 'address of the service, as in the issuer of its credentials')
    .requiredOption('--kinds <kinds>', 'kinds that you accept, comma-separated')
    .requiredOption('--min-assurance <level>', 'low, substantial or high')
    .requiredOption('--min-quality <number>', '0 to 1; 0 also accepts credentials without a quality')
    .option('--min-forging <class>', 'F0 to F4: least cost of 1,000 forged acts, by the table of the issuer')
    .option('--min-forging-human <class>', 'F0 to F4: least cost of acts of 1,000 distinct humans')
    .option(
      '--trusted-issuer <issuer>',
      'organization whose word you take for a human; may be repeated',
      collect,
    )
    .option('--pinned-agent <id>', 'agent whose limit of acts you rely on; may be repeated', collect)
    .option('--forging-table <file>', 'file with the price table; none is fetched')
    .option('--status <demand>', 'check of the status list: require, if-present or skip', 'if-present')
    .option('--challenge <text>', 'the challenge that you gave out for this act')
    .option('--max-age <seconds>', 'maximum age of the act')
    .option('--allow-test', 'accept test credentials, which prove nothing')
    .option('--jwks <file>', 'file with the public keys; no key is fetched')
    .addOption(approvalOption('--enrolled-by <id>', 'agent in whose account the approvers are enrolled'))
    .addOption(approvalOption('--min-approvers <number>', 'how many people approved; default: 1'))
    .addOption(approvalOption('--key-bound', 'the passkey must not leave its device'))
    .addOption(approvalOption('--min-key-age-days <number>', 'since when the passkey is registered'))
    .addOption(approvalOption('--min-shown-seconds <number>', 'how long the action was shown'))
    .addOption(
      approvalOption(
        '--envelope <file>',
        'the envelope, or the answer of approvals show --json, to compare and show',
      ),
    )
    .action(async (jwt: string, options) => (await import('./verify.ts')).verify(jwt, options))
}

const addCalculations = (program: Command): void => {
  addLocal(
    program,
    'forging',
    'show what 1,000 forged credentials of a service cost, as acts and as people, and compute its table again',
    'forging --issuer https://pohf.example',
    'forging --issuer https://pohf.example --kind personhood',
  )
    .requiredOption('--issuer <url>', 'address of the service, as in the issuer of its credentials')
    .option('--kind <kind>', 'kind of the credentials', 'view')
    .option('--forging-table <file>', 'file with the price table; none is fetched')
    .option('--jwks <file>', 'file with the public keys; no key is fetched')
    .action(async (options) => (await import('./forging.ts')).showForging(options))
  addLocal(
    program,
    'recompute <file>',
    'score a session again from the answer of GET /api/agents/sessions/{id}/chunks',
    'recompute recording.json --credential "$JWT" --issuer https://pohf.example',
  )
    .option('--credential <jwt>', 'compare the result with this credential')
    .option('--issuer <url>', 'address of the service, to verify the signature of the credential')
    .option('--jwks <file>', 'file with the public keys; no key is fetched')
    .action(async (file: string, options) => (await import('./recompute.ts')).recomputeFile(file, options))
}

const steps = {
  revoke: 'revoke a credential for good, as an operator; verifiers see it within 90 seconds',
  suspend: 'suspend a credential, as an operator',
  reinstate: 'lift a suspension, as an operator',
}

const addCredentials = (program: Command): void => {
  const credentials = program
    .command('credentials')
    .description('list your credentials; as an operator, revoke, suspend or reinstate them')
  addList(credentials, 'list your credentials, newest first', 'credentials list --kind view --status active')
    .option('--kind <kind>', 'only of this kind, such as view')
    .option('--status <status>', 'only active, suspended, revoked or expired ones')
    .option('--assurance <level>', 'only low, substantial or high ones')
    .action((options: ListOptions) => printList(options, credentialList))
  for (const [step, description] of Object.entries(steps))
    addOperator(
      credentials,
      `${step} <credentialId>`,
      description,
      `credentials ${step} crd_0123 --reason 'asked by the holder'`,
    )
      .requiredOption('--reason <text>', 'reason, for the audit log and the agent')
      .action((credentialId: string, options) =>
        operatorCall(options, 'POST', `/operator/credentials/${encodeURIComponent(credentialId)}/${step}`, {
          reason: options.reason,
        }),
      )
}

const addSessions = (program: Command): void => {
  const sessions = program.command('sessions').description('list your sessions and read recordings')
  addList(sessions, 'list your sessions, newest first', 'sessions list --verified false --since 2026-11-01')
    .option('--kind <kind>', 'only of this kind: view, work, task, presence or approval')
    .option('--status <status>', 'only open, closed, scored, sealed or expired ones')
    .option('--verified <boolean>', 'true: scored as human; false: refused')
    .action((options: ListOptions) => printList(options, sessionList))
  addAgent(
    sessions,
    'open <sessionId>',
    'fetch a recording and verify its chain, signatures and proofs',
    'sessions open ses_0123 --json',
  ).action(async (sessionId: string, options) =>
    (await import('./sessions.ts')).openSession(sessionId, options),
  )
}

/** Credentials, the sessions behind them, and what they prove. */
export const proofGroup: CommandGroup = {
  name: 'proof',
  title: 'Proof: credentials, the sessions behind them, and what forging costs',
  examples: [verifyExample, 'credentials list --limit 5', 'sessions open ses_0123'],
  add: (program) => {
    addVerify(program)
    addCredentials(program)
    addSessions(program)
    addCalculations(program)
  },
}
