import { guardFirst, memberOf } from './framework.ts'
import type { GuardOptions } from './options.ts'

/** For the function of a tool of LangChain and LangGraph: `tool(guardTool(run, options), { name, schema })`. */
export const guardTool = <Input, Context extends readonly unknown[], Output>(
  run: (input: Input, ...context: Context) => Output | Promise<Output>,
  options: GuardOptions,
): ((input: Input, ...context: Context) => Promise<Output>) =>
  guardFirst(run, options, ([config]) => memberOf(config, 'signal'))
