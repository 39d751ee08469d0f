import { ApprovalError } from './errors.ts'
import { guardFirst, memberOf } from './framework.ts'
import type { GuardOptions } from './options.ts'

/**
 * For `execute` of a tool of `@openai/agents`: `tool({ parameters, execute: guardExecute(run, options) })`. Where the tool does
 * not run, the model gets the reason as its output: the SDK would tell it to try again.
 */
export const guardExecute = <Input, Context extends readonly unknown[], Output>(
  run: (input: Input, ...context: Context) => Output | Promise<Output>,
  options: GuardOptions,
): ((input: Input, ...context: Context) => Promise<Output | string>) => {
  const guarded = guardFirst(run, options, ([, details]) => memberOf(details, 'signal'))
  return async (input, ...context) => {
    try {
      return await guarded(input, ...context)
    } catch (error) {
      if (!(error instanceof ApprovalError)) throw error
      return `The tool was not run. ${error.message}`
    }
  }
}
