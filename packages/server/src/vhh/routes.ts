import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'
import { publicResponse, licensedResponse } from './responses.ts'
import { catalogue } from './catalogue.ts'
import { composite, compositeLicensed, mayReadLicensed } from './composite.ts'
import { forwardsOrder } from './forwards-order.ts'
import { series } from './series.ts'

export const routes = (ctx: Ctx, signer: Signer): Route[] => [
  route('vhh.catalogue', async (call) =>
    publicResponse(await catalogue(ctx, signer), call.header('if-none-match')),
  ),
  route('vhh.composite', async (call) =>
    mayReadLicensed(call.agent, call.query)
      ? licensedResponse(await compositeLicensed(ctx, signer, call.query))
      : publicResponse(await composite(ctx, signer), call.header('if-none-match')),
  ),
  route('vhh.series', async (call) => licensedResponse(await series(ctx, call.params.code))),
  route('vhh.forwards-order', (call) => forwardsOrder(ctx, signer, call.body)),
]
