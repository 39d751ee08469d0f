import { Option, type Command } from 'commander'
import { operatorCall } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

const agentPath = (agentId: string, name: string) => `/operator/agents/${encodeURIComponent(agentId)}/${name}`

const withGrantOptions = (command: Command): Command =>
  command
    .requiredOption('--reference <text>', 'name of this grant; a repeat with the same name changes nothing')
    .requiredOption('--reason <text>', 'reason, for the audit log')

const addGrants = (operator: Command): void => {
  withGrantOptions(
    addOperator(
      operator,
      'grant-credits <agentId> <credits>',
      'grant credits to an agent without a payment',
      "operator grant-credits agt_0123 100 --reference 'trial 1' --reason 'a trial'",
    ),
  ).action((agentId: string, credits: string, options) =>
    operatorCall(options, 'POST', agentPath(agentId, 'credits'), {
      credits: Number(credits),
      reference: options.reference,
      reason: options.reason,
    }),
  )
  withGrantOptions(
    addOperator(
      operator,
      'grant-points <agentId> <stars>',
      'raise the number of Stars that a live partner may convert; a negative number, after --, lowers it',
      "operator grant-points agt_0123 50000 --reference 'contract 1' --reason 'paid in advance'",
    ),
  ).action((agentId: string, stars: string, options) =>
    operatorCall(options, 'POST', agentPath(agentId, 'points-limit'), {
      stars: Number(stars),
      reference: options.reference,
      reason: options.reason,
    }),
  )
}

const addRate = (operator: Command): void => {
  addOperator(
    operator,
    'points-rate <agentId> <stars> <points>',
    'set how many Stars so many points of a partner are worth, for conversions from now on',
    "operator points-rate agt_0123 2 3 --reason 'contract 2'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, stars: string, points: string, { reason, ...remote }) =>
      operatorCall(remote, 'POST', agentPath(agentId, 'points-rate'), {
        stars: Number(stars),
        points: Number(points),
        reason,
      }),
    )
}

/** The commands with which an operator acts for agents, members and workers. */
export const addAgentsAndPeople = (program: Command, operator: Command): void => {
  addGrants(operator)
  addRate(operator)
  addOperator(
    operator,
    'confirm-email <agentId>',
    'confirm the contact mail address of an agent, for example where no mail can be sent',
    "operator confirm-email agt_0123 --reason 'known by phone'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, options) =>
      operatorCall(options, 'POST', agentPath(agentId, 'email/confirm'), { reason: options.reason }),
    )
  addOperator(
    operator,
    'invite-worker',
    'invite a person to work for this deployment and print the link of the invitation',
    "operator invite-worker --external-ref 'worker 1'",
  )
    .option('--mode <mode>', 'live or test', 'live')
    .option('--external-ref <text>', 'your reference for the person; the same reference gives a new link')
    // The name of the first release.
    .addOption(new Option('--ref <text>').hideHelp())
    .action(({ mode, ref, externalRef = ref, ...remote }) =>
      operatorCall(remote, 'POST', '/operator/workers/invite', {
        mode,
        ...(externalRef === undefined ? {} : { externalRef }),
      }),
    )
  addOperator(
    program.command('members').description('manage enrolled people'),
    'erase <agentId> <memberId>',
    'erase the person behind a member',
    "members erase agt_0123 mem_0123 --reason 'asked by letter'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log; do not name the person')
    .option('--mode <mode>', 'live or test', 'live')
    .action((agentId: string, memberId: string, { mode, reason, ...remote }) =>
      operatorCall(remote, 'POST', agentPath(agentId, `members/${encodeURIComponent(memberId)}/erase`), {
        mode,
        reason,
      }),
    )
}
