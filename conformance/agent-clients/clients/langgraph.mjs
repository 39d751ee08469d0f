// @langchain/langgraph 1.4: a graph of a scripted model and a ToolNode.
import { fakeModel } from '@langchain/core/testing'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { z } from 'zod'
import { guardTool } from '../../../packages/sdk/src/approvals/langgraph.ts'
import { input, options, pay, report } from './payment.mjs'

const payTool = tool(guardTool(pay, options), {
  name: 'pay',
  description: 'Pays.',
  schema: z.object({ amount: z.string(), to: z.string() }),
})
const model = fakeModel()
  .respondWithTools([{ name: 'pay', args: input, id: 'call-1' }])
  .respond(new AIMessage('done'))
const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode([payTool]))
  .addEdge('__start__', 'agent')
  .addConditionalEdges('agent', toolsCondition)
  .addEdge('tools', 'agent')
  .compile()
const { messages } = await graph.invoke({ messages: [new HumanMessage('Pay the invoice.')] })
report(messages.find((message) => message.getType() === 'tool')?.content)
