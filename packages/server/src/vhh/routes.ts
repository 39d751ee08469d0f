import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'
import { publicAnswer, licensedAnswer } from './answers.ts'
import { catalogue } from './catalogue.ts'
import { composite, compositeLicensed, mayReadLicensed } from './composite.ts'
import { forwardsOrder } from './forwards-order.ts'
import { series } from './series.ts'

export const routes = (ctx: Ctx, signer: Signer): Route[] => [
  route('vhh.catalogue', async (call) =>
    publicAnswer(await catalogue(ctx, signer), call.header('if-none-match')),
  ),
  route('vhh.composite', async (call) =>
    mayReadLicensed(call.agent, call.query)
      ? licensedAnswer(await compositeLicensed(ctx, signer, call.query))
      : publicAnswer(await composite(ctx, signer), call.header('if-none-match')),
  ),
  route('vhh.series', async (call) => licensedAnswer(await series(ctx, call.params.code))),
  route('vhh.forwards-order', (call) => forwardsOrder(ctx, signer, call.body)),
]
