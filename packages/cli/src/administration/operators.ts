import type { Command } from 'commander'
import { operatorCall, queryOf } from '../command/operator.ts'
import { addLocal, addOperator } from '../command/options.ts'
import { withProgress } from '../command/progress.ts'
import { runProgram } from '../command/run-program.ts'

/** Runs a role of the server, which prints JSON. */
const runRole = async (parameters: readonly string[]): Promise<void> => {
  process.exitCode = await withProgress('waiting for the database', () =>
    runProgram('server/src/main.ts', parameters),
  )
}

const addOnMachine = (operator: Command): void => {
  addLocal(
    operator,
    'create <name>',
    'create an operator from this machine (needs DATABASE_URL) and print the key once',
    "operator create 'First operator' > operator.json",
  ).action((name: string) => runRole(['operator', 'create', name]))
  addLocal(
    operator,
    'passkeys <name>',
    'list the passkeys of an operator from this machine (needs DATABASE_URL), or remove a lost one',
    "operator passkeys 'First operator'",
  )
    .option('--remove <passkeyId>', 'remove this passkey and end the sessions that it opened')
    .action((name: string, { remove }: { remove?: string }) =>
      runRole(['operator', 'passkeys', name, ...(remove === undefined ? [] : [remove])]),
    )
}

/** What the operators' pages show: the overview, and the agents. */
const addOverview = (operator: Command): void => {
  addOperator(
    operator,
    'overview',
    'read the health of the service and what waits for a decision',
    'operator overview',
  ).action((options) => operatorCall(options, 'GET', '/operator/overview'))
  addOperator(
    operator,
    'agents',
    'list the agents, newest first, or find them',
    'operator agents --search exam',
  )
    .option('--search <text>', 'an agent id, a whole mail address, or the beginning of a name')
    .option('--state <state>', 'only these: suspended or unconfirmed')
    .option('--after <agentId>', 'nextCursor of the page before')
    .action(({ search, state, after, ...remote }) =>
      operatorCall(remote, 'GET', `/operator/agents?${queryOf({ order: 'newest', search, state, after })}`),
    )
  addOperator(
    operator,
    'agent <agentId>',
    'read an agent, its balances and what operators granted it',
    'operator agent agt_0123',
  ).action((agentId: string, options) =>
    operatorCall(options, 'GET', `/operator/agents/${encodeURIComponent(agentId)}`),
  )
}

/** The operators themselves, the audit log, and the agents as operators see them. */
export const addOperators = (operator: Command): void => {
  addOnMachine(operator)
  addOperator(operator, 'list', 'list the operators', 'operator list').action((options) =>
    operatorCall(options, 'GET', '/operator/operators'),
  )
  addOperator(operator, 'audit', 'read and verify the audit log', 'operator audit').action((options) =>
    operatorCall(options, 'GET', '/operator/audit?limit=1000'),
  )
  addOperator(operator, 'revoke <operatorId>', 'revoke an operator', 'operator revoke opr_0123').action(
    (operatorId: string, options) =>
      operatorCall(options, 'POST', `/operator/operators/${encodeURIComponent(operatorId)}/revoke`),
  )
  addOverview(operator)
}
