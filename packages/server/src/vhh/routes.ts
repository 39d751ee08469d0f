import { route, type Route } from '../platform/http/call.ts'
import { publicResponse, licensedResponse } from './responses.ts'
import { catalogue } from './catalogue.ts'
import { composite, compositeLicensed, mayReadLicensed } from './composite.ts'
import { forwardsOrder } from './forwards-order.ts'
import { operatorList } from './forwards/operator-list.ts'
import { operatorMove } from './forwards/operator-move.ts'
import { inputs } from './inputs.ts'
import { operatorClose, type CloseDeps } from './operator-close.ts'
import { operatorExplain } from './operator-explain.ts'
import { series } from './series.ts'
import { seriesInputs } from './series-inputs.ts'
import type { IndexDeps } from './sources/sources.ts'

export const routes = (deps: IndexDeps): Route[] => [
  route('vhh.catalogue', async (call) => publicResponse(await catalogue(deps), call.header('if-none-match'))),
  route('vhh.composite', async (call) =>
    mayReadLicensed(call.agent, call.query)
      ? licensedResponse(await compositeLicensed(deps, call.query))
      : publicResponse(await composite(deps), call.header('if-none-match')),
  ),
  route('vhh.inputs', async (call) =>
    publicResponse(await inputs(deps, call.query.epoch), call.header('if-none-match')),
  ),
  route('vhh.series', async (call) => licensedResponse(await series(deps.ctx, call.params.code))),
  route('vhh.series-inputs', async (call) =>
    licensedResponse(await seriesInputs(deps.ctx, call.params.code, call.query.epoch)),
  ),
  route('vhh.forwards-order', (call) => forwardsOrder(deps, call.body)),
]

export const operatorRoutes = (deps: CloseDeps): Route[] => [
  route('vhh.operator-close', (call) => operatorClose(deps, call.operator, call.body)),
  route('vhh.operator-explain', (call) => operatorExplain(deps.ctx, call.params.epoch, call.query.code)),
  route('vhh.forwards.operator-list', (call) => operatorList(deps.ctx, call.query)),
  route('vhh.forwards.operator-move', (call) =>
    operatorMove(deps, call.operator, { ...call.params, ...call.body }),
  ),
]
