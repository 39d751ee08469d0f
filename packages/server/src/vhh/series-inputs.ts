import type { Ctx } from '../platform/ops/context.ts'
import { presentInputs, readEpochWithInputs } from './inputs.ts'

/** A category with its inputs, for holders of a licence. */
export const seriesInputs = async (ctx: Ctx, code: string, month: string | undefined) =>
  presentInputs(await readEpochWithInputs(ctx, code, month))
