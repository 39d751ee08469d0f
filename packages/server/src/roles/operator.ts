import * as operators from '../operators/index.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { buildContext } from '../wiring/index.ts'

/** Creates an operator from the command line: the only way to the first one. Prints the key as JSON. */
export const createOperator = async (config: Config, name: string): Promise<void> => {
  const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-operator' })
  try {
    process.stdout.write(`${JSON.stringify(await operators.create(ctx, 'machine', name))}\n`)
  } finally {
    await ctx.db.pool.end()
  }
}
