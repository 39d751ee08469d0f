import { guardFirst, memberOf } from './framework.ts'
import type { GuardOptions } from './options.ts'

/** For `execute` of a tool of the AI SDK (`ai` 7): `tool({ inputSchema, execute: guardExecute(run, options) })`. */
export const guardExecute = <Input, Context extends readonly unknown[], Output>(
  run: (input: Input, ...context: Context) => Output | Promise<Output>,
  options: GuardOptions,
): ((input: Input, ...context: Context) => Promise<Output>) =>
  guardFirst(run, options, ([call]) => memberOf(call, 'abortSignal'))
