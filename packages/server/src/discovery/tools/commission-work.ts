import { z } from 'zod'
import { fieldsOf, resultFrom, type Tool } from './tool.ts'

/** Mandates are in the metadata, so that a model neither reads nor writes them. */
const mandatesKey = 'pohf/ap2'

export const commissionWork: Tool = {
  name: 'commission_work',
  title: 'Commission human work',
  description:
    'Orders verified human work with escrow. taskType is a workflow id of list_verified_work, a category, or any text for a custom order; maxPriceUsd caps the whole order. Nothing is charged until a person pays the checkout of fund_order. Needs an API key, or mandates of a wallet in _meta["pohf/ap2"]; the refusal without them has the quote to close them over.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  needs: ['work.orders.create'],
  output: 'work.orders.create',
  input: z.object(fieldsOf('work.orders.create', 'body', ['taskType', 'quantity', 'maxPriceUsd'])),
  run: async (call) => {
    const ap2 = call.meta[mandatesKey]
    const body = { ...call.input, ...(ap2 === undefined ? {} : { ap2 }) }
    return resultFrom(call, await call.dispatch('work.orders.create', { body }))
  },
}
