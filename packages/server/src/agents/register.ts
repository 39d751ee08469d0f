import { confirmationStep, freePlanCondition, type Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { mailDomainOf, normaliseEmail } from '../platform/net/mail-address.ts'
import { publish } from '../platform/queue/outbox.ts'
import { confirmAddress } from './email-confirm.ts'
import { addKey } from './keys/key.ts'
import { mailConfirmation } from './mails.ts'
import { allScopes } from './rules.ts'
import { insertAgent } from './store.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

type Registration = {
  readonly name: string
  readonly contactEmail: string
  readonly mode: Mode
  readonly address: ClientAddress
}

/** A keyed hash of a network: comparable, not reversible. */
const tagOf = (ctx: Ctx, network: string): string =>
  hmacOf(ctx.secrets.derive('network')).update(network).digest('base64url')

/** The tag of the network that a call came from. */
export const networkTagOf = (ctx: Ctx, address: ClientAddress): string => tagOf(ctx, address.narrow)

/** What the new agent does next, for people. */
export const nextStep = ({ config }: Pick<Ctx, 'config'>, mode: Mode): string =>
  mode === 'test'
    ? 'Verify at once: a test key needs no credits, and its credentials carry test:true.'
    : `${freePlanCondition} ${confirmationStep(config.SMTP_URL !== undefined)}`

/** Creates an agent without a key. */
const addAgent = async (tx: Tx, ctx: Ctx, input: Registration): Promise<string> => {
  const agentId = ctx.ids.make('agt_')
  await insertAgent(tx, {
    agentId,
    mode: input.mode,
    name: input.name,
    contactEmail: input.contactEmail,
    mailDomain: mailDomainOf(input.contactEmail),
    networkTag: networkTagOf(ctx, input.address),
    wideNetworkTag: tagOf(ctx, input.address.wide),
  })
  await publish(tx, {
    agentId,
    mode: input.mode,
    type: 'agent.registered',
    subject: agentId,
    data: { agentId },
  })
  return agentId
}

/** Creates an agent without a key for somebody who has proved that the normalised address is theirs. */
export const addConfirmedAgent = async (tx: Tx, ctx: Ctx, input: Registration): Promise<string> => {
  const agentId = await addAgent(tx, ctx, input)
  await confirmAddress(tx, { agent_id: agentId, mode: input.mode })
  return agentId
}

/** Creates an agent with one key that has every scope, and mails the confirmation link. */
export const register = async (ctx: Ctx, input: Registration) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { mode } = input
    const contactEmail = normaliseEmail(input.contactEmail)
    const agentId = await addAgent(tx, ctx, { ...input, contactEmail })
    const { apiKey } = await addKey(tx, { agentId, mode, cell: ctx.config.CELL, scopes: allScopes })
    // The answer is the same if the address has reached its daily limit: it reveals nothing about other registrations.
    await mailConfirmation(tx, ctx, { agentId, contactEmail })
    return { apiKey, agentId, mode, next: nextStep(ctx, mode) }
  })
