// @openai/agents 0.20: a run with a scripted model.
import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import { z } from 'zod'
import { guardExecute } from '../../../packages/sdk/src/approvals/openai-agents.ts'
import { input, options, pay, report } from './payment.mjs'

setTracingDisabled(true)
const requests = []
const outputs = [
  [
    {
      type: 'function_call',
      callId: 'call-1',
      name: 'pay',
      status: 'completed',
      arguments: JSON.stringify(input),
    },
  ],
  [
    {
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'done' }],
    },
  ],
]
const model = {
  getResponse: async (request) => {
    requests.push(structuredClone(request.input))
    return { usage: new Usage(), output: outputs[requests.length - 1] ?? [] }
  },
  getStreamedResponse: () => {
    throw new Error('not used')
  },
}
const agent = new Agent({
  name: 'payer',
  model,
  tools: [
    tool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.string(), to: z.string() }),
      execute: guardExecute(pay, options),
    }),
  ],
})
await run(agent, 'Pay the invoice.')
report(JSON.stringify(requests[1]?.at(-1)))
