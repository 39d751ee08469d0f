import { route, type Route } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { catalog } from './catalog.ts'
import { deliveries } from './deliveries.ts'
import { list } from './list.ts'
import { readEvents } from './read-events.ts'
import { recover } from './recover.ts'
import { register } from './register.ts'
import { remove } from './remove.ts'
import { replay } from './replay.ts'
import { rotate } from './rotate.ts'
import { sendTest } from './send-test.ts'
import { trigger } from './trigger.ts'
import { update } from './update.ts'

export const routes = (ctx: Ctx): Route[] => [
  route('webhooks.register', (call) => register(ctx, call.agent, call.body)),
  route('webhooks.list', (call) => list(ctx, call.agent)),
  route('webhooks.update', (call) => update(ctx, call.agent, { ...call.params, ...call.body })),
  route('webhooks.remove', (call) => remove(ctx, call.agent, call.params.webhookId)),
  route('webhooks.rotate', (call) => rotate(ctx, call.agent, { ...call.params, ...call.body })),
  route('webhooks.send-test', (call) => sendTest(ctx, call.agent, call.params.webhookId)),
  route('webhooks.recover', (call) => recover(ctx, call.agent, { ...call.params, ...call.body })),
  route('webhooks.deliveries', (call) => deliveries(ctx, call.agent, { ...call.params, ...call.query })),
  route('webhooks.replay', (call) => replay(ctx, call.agent, call.params.deliveryId)),
  route('webhooks.read-events', (call) => readEvents(ctx, call.agent, call.query)),
  route('webhooks.trigger', (call) => trigger(ctx, call.agent, call.body.type)),
  route('webhooks.catalog', () => catalog()),
]
