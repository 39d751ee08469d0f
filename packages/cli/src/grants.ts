import type { Command } from 'commander'
import { operatorCall } from './operator.ts'

/** Makes a command of an operator, with the address and key of the listener. */
type MakeCommand = (text: string) => Command

const agentPath = (agentId: string, name: string) => `/operator/agents/${encodeURIComponent(agentId)}/${name}`

const grantCommand = (makeCommand: MakeCommand, text: string, description: string) =>
  makeCommand(text)
    .description(description)
    .requiredOption('--reference <text>', 'name of this grant; a repeat with the same name changes nothing')
    .requiredOption('--reason <text>', 'reason, for the audit log')

/** The commands with which an operator acts for agents and workers. */
export const addGrantCommands = (makeCommand: MakeCommand): void => {
  grantCommand(
    makeCommand,
    'grant-credits <agentId> <credits>',
    'grant credits to an agent without a payment',
  ).action((agentId: string, credits: string, options) =>
    operatorCall(options, 'POST', agentPath(agentId, 'credits'), {
      credits: Number(credits),
      reference: options.reference,
      reason: options.reason,
    }),
  )
  grantCommand(
    makeCommand,
    'grant-points <agentId> <stars>',
    'raise the number of Stars that a live partner may convert; a negative number, after --, lowers it',
  ).action((agentId: string, stars: string, options) =>
    operatorCall(options, 'POST', agentPath(agentId, 'points-limit'), {
      stars: Number(stars),
      reference: options.reference,
      reason: options.reason,
    }),
  )
  makeCommand('confirm-email <agentId>')
    .description('confirm the contact mail address of an agent, for example where no mail can be sent')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, options) =>
      operatorCall(options, 'POST', agentPath(agentId, 'email/confirm'), { reason: options.reason }),
    )
  makeCommand('invite-worker')
    .description('invite a person to work for this deployment and print the link of the invitation')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--ref <text>', 'your reference for the person; the same reference gives a new link')
    .action((options) =>
      operatorCall(options, 'POST', '/operator/workers/invite', {
        mode: options.mode,
        ...(options.ref === undefined ? {} : { externalRef: options.ref }),
      }),
    )
}
