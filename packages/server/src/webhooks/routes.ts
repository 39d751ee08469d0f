import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { catalog } from './endpoints/catalog.ts'
import { deliveries } from './delivery/deliveries.ts'
import { list } from './endpoints/list.ts'
import { readEvents } from './delivery/read-events.ts'
import { recover } from './endpoints/recover.ts'
import { register } from './endpoints/register.ts'
import { remove } from './endpoints/remove.ts'
import { replay } from './delivery/replay.ts'
import { rotate } from './endpoints/rotate.ts'
import { sendTest } from './endpoints/send-test.ts'
import { trigger } from './endpoints/trigger.ts'
import { update } from './endpoints/update.ts'

export const routes = (ctx: Ctx): Route[] => [
  route('webhooks.endpoints.register', (call) => register(ctx, call.agent, call.body)),
  route('webhooks.endpoints.list', (call) => list(ctx, call.agent)),
  route('webhooks.endpoints.update', (call) => update(ctx, call.agent, { ...call.params, ...call.body })),
  route('webhooks.endpoints.remove', (call) => remove(ctx, call.agent, call.params.webhookId)),
  route('webhooks.endpoints.rotate', (call) => rotate(ctx, call.agent, { ...call.params, ...call.body })),
  route('webhooks.endpoints.send-test', (call) => sendTest(ctx, call.agent, call.params.webhookId)),
  route('webhooks.endpoints.recover', (call) => recover(ctx, call.agent, { ...call.params, ...call.body })),
  route('webhooks.delivery.deliveries', (call) =>
    deliveries(ctx, call.agent, { ...call.params, ...call.query }),
  ),
  route('webhooks.delivery.replay', (call) => replay(ctx, call.agent, call.params.deliveryId)),
  route('webhooks.delivery.read-events', (call) => readEvents(ctx, call.agent, call.query)),
  route('webhooks.endpoints.trigger', (call) => trigger(ctx, call.agent, call.body.type)),
  route('webhooks.endpoints.catalog', () => catalog()),
]
