import { createHmac } from 'node:crypto'
import { confirmationStep, freePlanCondition, type Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { networkPrefixOf } from '../platform/http/rate-limiter.ts'
import { publish } from '../platform/queue/outbox.ts'
import { addKey } from './keys/key.ts'
import { mailConfirmation } from './mails.ts'
import { allScopes, mailDomainOf, normaliseEmail } from './rules.ts'
import { insertAgent } from './store.ts'

type Registration = {
  readonly name: string
  readonly contactEmail: string
  readonly mode: Mode
  readonly address: string
}

/** A keyed hash of the network that a call came from: comparable, not reversible. */
export const networkTagOf = (ctx: Ctx, address: string): string =>
  createHmac('sha256', ctx.secrets.derive('network')).update(networkPrefixOf(address)).digest('base64url')

/** What the new agent does next, for people. */
export const nextStep = ({ config }: Pick<Ctx, 'config'>, mode: Mode): string =>
  mode === 'test'
    ? 'Verify at once: a test key needs no credits, and its credentials carry test:true.'
    : `${freePlanCondition} ${confirmationStep(config.SMTP_URL !== undefined)}`

/** Creates an agent with one key that has every scope, and mails the confirmation link. */
export const register = async (ctx: Ctx, input: Registration) =>
  inTransaction(ctx, 'system', async (tx) => {
    const agentId = ctx.ids.make('agt_')
    const contactEmail = normaliseEmail(input.contactEmail)
    const networkTag = networkTagOf(ctx, input.address)
    await insertAgent(tx, {
      agentId,
      mode: input.mode,
      name: input.name,
      contactEmail,
      mailDomain: mailDomainOf(contactEmail),
      networkTag,
    })
    const { apiKey } = await addKey(tx, {
      agentId,
      mode: input.mode,
      cell: ctx.config.CELL,
      scopes: allScopes,
    })
    await mailConfirmation(tx, ctx, { agentId, contactEmail })
    await publish(tx, {
      agentId,
      mode: input.mode,
      type: 'agent.registered',
      subject: agentId,
      data: { agentId },
    })
    return { apiKey, agentId, mode: input.mode, next: nextStep(ctx, input.mode) }
  })
