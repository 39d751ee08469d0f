import { z } from 'zod'
import { fieldsOf, resultFrom, type Tool } from './tool.ts'

export const fundOrder: Tool = {
  name: 'fund_order',
  title: 'Get the checkout of an order',
  description:
    'Returns the address of the card checkout that funds an order of commission_work. A person must open and complete it: show the address to your user. An agent without a person buys with purchase_verified_human_task. Needs an API key.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  needs: ['work.orders.fund'],
  output: 'work.orders.fund',
  input: z.object(fieldsOf('work.orders.fund', 'body', ['orderId'])),
  run: async (call) => resultFrom(call, await call.dispatch('work.orders.fund', { body: call.input })),
}
