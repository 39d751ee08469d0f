import { Option, type Command } from 'commander'
import { operatorCall, requestOperator, type Remote } from './operator.ts'

const kinds = ['authenticator', 'app', 'payout_account', 'external', 'network']

type Reason = { readonly reason: string }

const addSites = (roots: Command, operatorCommand: (command: Command) => Command): void => {
  operatorCommand(roots.command('budget <agentId> <factor>'))
    .description('give a site a budget of its own, so many times the usual one; "usual" takes it back')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, factor: string, options) =>
      operatorCall(options, 'POST', `/operator/agents/${encodeURIComponent(agentId)}/network-budget`, {
        factor: factor === 'usual' ? null : Number(factor),
        reason: options.reason,
      }),
    )
  operatorCommand(roots.command('sites'))
    .description('list the sites that have a budget of their own')
    .action((options) => operatorCall(options, 'GET', '/operator/roots/sites?limit=200'))
}

/** What credentials rest on: budgets of sites, and suspension of a model, app, issuer or network. */
export const addRoots = (program: Command, operatorCommand: (command: Command) => Command): void => {
  const roots = program.command('roots').description('manage what credentials rest on: networks and devices')
  addSites(roots, operatorCommand)
  operatorCommand(roots.command('suspended'))
    .description('list the suspended models, apps and issuers')
    .action((options) => operatorCall(options, 'GET', '/operator/roots/suspended?limit=200'))
  operatorCommand(roots.command('suspend <kind> <name>'))
    .description(`suspend a root and its credentials; the kind is ${kinds.join(', ')}`)
    .addOption(
      new Option('--credentials <what>', 'what becomes of the credentials that rest on it')
        .choices(['keep', 'suspend', 'revoke'])
        .default('suspend'),
    )
    .requiredOption('--reason <text>', 'reason, for the audit log and the agents')
    .action(async (kind: string, name: string, options) => {
      const { credentials, reason } = options
      let after: string | undefined
      do {
        const answer = await requestOperator(options, 'POST', '/operator/roots/suspend', {
          kind,
          name,
          credentials,
          reason,
          ...(after === undefined ? {} : { after }),
        })
        const { next } = (answer ?? {}) as { next?: string | null }
        after = next ?? undefined
      } while (after !== undefined)
    })
  type App = { readonly agentId: string; readonly kind: string; readonly name: string }
  const changeAdmission = async ({ agentId, ...app }: App, admitted: boolean, options: Remote & Reason) => {
    const path = `/operator/agents/${encodeURIComponent(agentId)}/apps`
    await operatorCall(options, 'POST', path, { ...app, admitted, reason: options.reason })
  }
  operatorCommand(roots.command('admit <agentId> <kind> <name>'))
    .description(
      'admit an app or relying-party id of an agent, so that its verdicts raise credentials; the kind is app or rp_id',
    )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, kind: string, name: string, options) =>
      changeAdmission({ agentId, kind, name }, true, options),
    )
  operatorCommand(roots.command('dismiss <agentId> <kind> <name>'))
    .description('withdraw the admission of an app or relying-party id: later verdicts raise nothing')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, kind: string, name: string, options) =>
      changeAdmission({ agentId, kind, name }, false, options),
    )
  operatorCommand(roots.command('reinstate <kind> <name>'))
    .description('lift the suspension of a model, app or issuer; its credentials stay as they are')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((kind: string, name: string, options) =>
      operatorCall(options, 'POST', '/operator/roots/reinstate', { kind, name, reason: options.reason }),
    )
}
