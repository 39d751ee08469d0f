import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'

/** The person of the account who administers. The platform lets nobody else call an administrative row. */
export const administratorOf = ({ agentId, console }: Agent): string => {
  if (!console) throw new Error(`agent ${agentId} reached the sign-ins of companies without a person`)
  return console.personId
}

export const logChange = (
  { log }: Pick<Ctx, 'log'>,
  agent: Agent,
  change: { readonly action: string; readonly issuerId: string },
): void => {
  const { agentId, mode } = agent
  log.info({ agentId, mode, personId: administratorOf(agent), ...change }, 'sign-in of a company changed')
}
