// ai 7: generateText with a scripted model of ai/test.
import { generateText, isStepCount, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'
import { guardExecute } from '../../../packages/sdk/src/approvals/ai.ts'
import { input, options, pay, report } from './payment.mjs'

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const call = { type: 'tool-call', toolCallId: 'call-1', toolName: 'pay', input: JSON.stringify(input) }
const model = new MockLanguageModelV4({
  doGenerate: [
    { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] },
    { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' }, usage, warnings: [] },
  ],
})
await generateText({
  model,
  prompt: 'Pay the invoice.',
  stopWhen: isStepCount(3),
  tools: {
    pay: tool({
      inputSchema: z.object({ amount: z.string(), to: z.string() }),
      execute: guardExecute(pay, options),
    }),
  },
})
// What the model reads in the second step.
report(JSON.stringify(model.doGenerateCalls[1]?.prompt.at(-1)))
