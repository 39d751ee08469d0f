import { rootKinds } from '@pohf/verify'
import { Option, type Command } from 'commander'
import { operatorCall, requestOperator, type OperatorRemote } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

const kinds: readonly string[] = rootKinds

type Reason = { readonly reason: string }

const addSites = (roots: Command): void => {
  addOperator(
    roots,
    'budget <agentId> <factor>',
    'give a site a budget of its own, so many times the usual one; "usual" takes it back',
    "roots budget agt_0123 20 --reason 'exam week'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, factor: string, options) =>
      operatorCall(options, 'POST', `/operator/agents/${encodeURIComponent(agentId)}/network-budget`, {
        factor: factor === 'usual' ? null : Number(factor),
        reason: options.reason,
      }),
    )
  addOperator(roots, 'sites', 'list the sites that have a budget of their own', 'roots sites').action(
    (options) => operatorCall(options, 'GET', '/operator/roots/sites?limit=200'),
  )
}

const addApps = (roots: Command): void => {
  type App = { readonly agentId: string; readonly kind: string; readonly name: string }
  const changeAdmission = async (
    { agentId, ...app }: App,
    admitted: boolean,
    options: OperatorRemote & Reason,
  ) => {
    const path = `/operator/agents/${encodeURIComponent(agentId)}/apps`
    await operatorCall(options, 'POST', path, { ...app, admitted, reason: options.reason })
  }
  addOperator(
    roots,
    'admit <agentId> <kind> <name>',
    'admit an app or relying-party id of an agent, so that its verdicts raise credentials; the kind is app or rp_id',
    'roots admit agt_0123 rp_id app.example --reason reviewed',
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, kind: string, name: string, options) =>
      changeAdmission({ agentId, kind, name }, true, options),
    )
  addOperator(
    roots,
    'dismiss <agentId> <kind> <name>',
    'withdraw the admission of an app or relying-party id: later verdicts raise nothing',
    "roots dismiss agt_0123 rp_id app.example --reason 'contract ended'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((agentId: string, kind: string, name: string, options) =>
      changeAdmission({ agentId, kind, name }, false, options),
    )
  addOperator(
    roots,
    'reinstate <kind> <name>',
    'lift the suspension of a model, app or issuer; its credentials stay as they are',
    "roots reinstate authenticator 00000000-0000-0000-0000-000000000000 --reason 'a mistake'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .action((kind: string, name: string, options) =>
      operatorCall(options, 'POST', '/operator/roots/reinstate', { kind, name, reason: options.reason }),
    )
}

/** What credentials rest on: budgets of sites, and suspension of a model, app, issuer or network. */
export const addRoots = (program: Command): void => {
  const roots = program.command('roots').description('manage what credentials rest on: networks and devices')
  addSites(roots)
  addOperator(roots, 'suspended', 'list the suspended models, apps and issuers', 'roots suspended').action(
    (options) => operatorCall(options, 'GET', '/operator/roots/suspended?limit=200'),
  )
  addOperator(
    roots,
    'suspend <kind> <name>',
    `suspend a root and its credentials; the kind is ${kinds.join(', ')}`,
    "roots suspend network 192.0.2.0/24 --reason 'a farm'",
  )
    .addOption(
      new Option('--credentials <what>', 'what becomes of the credentials that rest on it')
        .choices(['keep', 'suspend', 'revoke'])
        .default('suspend'),
    )
    .option(
      '--from <time>',
      'proofs that the issuer checked before this time stay, such as 2026-11-20T00:00:00Z',
    )
    .requiredOption('--reason <text>', 'reason, for the audit log and the agents')
    .action(async (kind: string, name: string, options) => {
      const { credentials, from, reason } = options
      let after: string | undefined
      do {
        const answer = await requestOperator(options, 'POST', '/operator/roots/suspend', {
          kind,
          name,
          credentials,
          reason,
          ...(from === undefined ? {} : { from }),
          ...(after === undefined ? {} : { after }),
        })
        const { next } = (answer ?? {}) as { next?: string | null }
        after = next ?? undefined
      } while (after !== undefined)
    })
  addApps(roots)
}
