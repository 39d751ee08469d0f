import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'
import { cached, licensed } from './answers.ts'
import { catalogue } from './catalogue.ts'
import { composite, compositeLicensed, mayReadLicensed } from './composite.ts'
import { forwardsOrder } from './forwards-order.ts'
import { series } from './series.ts'

export const routes = (ctx: Ctx, signer: Signer): Route[] => [
  route('vhh.catalogue', async (call) => cached(await catalogue(ctx, signer), call.header('if-none-match'))),
  route('vhh.composite', async (call) =>
    mayReadLicensed(call.agent, call.query)
      ? licensed(await compositeLicensed(ctx, signer, call.query))
      : cached(await composite(ctx, signer), call.header('if-none-match')),
  ),
  route('vhh.series', async (call) => licensed(await series(ctx, call.params.code))),
  route('vhh.forwards-order', (call) => forwardsOrder(ctx, signer, call.body)),
]
