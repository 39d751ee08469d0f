import * as operators from '../operators/index.ts'
import type { Config } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { buildContext } from '../wiring/context.ts'

const onMachine = async (config: Config, work: (ctx: Ctx) => Promise<unknown>): Promise<void> => {
  const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-operator' })
  try {
    process.stdout.write(`${JSON.stringify(await work(ctx))}\n`)
  } finally {
    await ctx.db.end()
  }
}

/** Creates an operator from the command line: the only way to the first one. Prints the key as JSON. */
export const createOperator = async (config: Config, name: string): Promise<void> =>
  onMachine(config, (ctx) => operators.create(ctx, 'machine', name))

/** Lists the passkeys of an operator from the command line, or removes one: for a lost device. Prints JSON. */
export const operatorPasskeys = async (
  config: Config,
  name: string,
  removedId: string | undefined,
): Promise<void> =>
  onMachine(config, (ctx) =>
    removedId === undefined
      ? operators.listPasskeysByName(ctx, name)
      : operators.removePasskeyByName(ctx, name, removedId),
  )
