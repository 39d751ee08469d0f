import { guardFirst, memberOf } from './framework.ts'
import type { GuardOptions } from './options.ts'

/**
 * For the handler of a tool of `@modelcontextprotocol/server`: `server.registerTool(name, config, guardHandler(run, options))`.
 * Where the tool does not run, the server answers with an error of the tool that names the reason.
 */
export const guardHandler = <Input, Context extends readonly unknown[], Output>(
  run: (input: Input, ...context: Context) => Output | Promise<Output>,
  options: GuardOptions,
): ((input: Input, ...context: Context) => Promise<Output>) =>
  guardFirst(run, options, ([call]) => memberOf(call, 'mcpReq', 'signal') ?? memberOf(call, 'signal'))
