import type { CommandGroup } from '../command/help.ts'
import { addAgentsAndPeople } from './agents-and-people.ts'
import { addAttention } from './attention-commands.ts'
import { addIndexAdministration } from './index-rate.ts'
import { addKeys } from './key-commands.ts'
import { addMoney } from './money.ts'
import { addOperators } from './operators.ts'
import { addPayouts } from './payouts.ts'
import { addRestore } from './restore.ts'
import { addReviews } from './reviews.ts'
import { addRoots } from './roots.ts'
import { addTrust } from './trust.ts'
import { addWorkflows } from './workflows.ts'

/** What operators do, at their listener or on the machine of the server. */
export const administrationGroup: CommandGroup = {
  name: 'administration',
  title: 'Administration: for the operators of a deployment, with an operator key',
  examples: ["operator create 'First operator'", 'operator overview', 'keys list', 'ledger check --whole'],
  add: (program) => {
    const operator = program
      .command('operator')
      .description('manage operators, read the audit log, and act for agents')
    addOperators(operator)
    addAgentsAndPeople(program, operator)
    addWorkflows(program)
    addPayouts(program)
    addReviews(program)
    addRoots(program)
    addTrust(program)
    addMoney(program)
    addIndexAdministration(program)
    addKeys(program)
    addRestore(program)
    addAttention(program)
  },
}
