import assert from 'node:assert/strict'
import { scopes, type Mode } from '@pohf/protocol'
import * as operators from '../../packages/server/src/operators/index.ts'
import type { AgentId } from '../../packages/server/src/platform/ops/ids.ts'
import type { Harness } from '../../packages/server/test/fixtures/harness.ts'
import { enter, openConsole } from '../../packages/server/test/fixtures/people/console.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import type { Random } from './random.ts'

/** How much is seeded. */
export type DemoSize = {
  readonly days: number
  /** Visits of an average day at the end. */
  readonly visitsPerDay: number
  readonly members: number
  readonly requestsPerDay: number
}

export type DemoAgent = { readonly agentId: AgentId; readonly mode: Mode; readonly apiKey: string }

/** Pays a checkout of the card simulator, by its id. */
export type PayCheckout = (sessionId: string) => Promise<void>

export type Demo = {
  readonly harness: Harness
  readonly random: Random
  readonly size: DemoSize
  readonly pay: PayCheckout
  readonly live: DemoAgent
  readonly test: DemoAgent
  readonly ownerEmail: string
  readonly operatorKeys: readonly [string, string]
}

type Call = { readonly key?: string; readonly body?: unknown }
/** Calls the API, and throws where it refuses: nothing of the demo is meant to be refused. */
export const call = async (
  { harness }: Pick<Demo, 'harness'>,
  method: string,
  path: string,
  request: Call = {},
  // oxlint-disable-next-line typescript/no-explicit-any
): Promise<any> => {
  const send = path.startsWith('/operator/') ? harness.callOperator : harness.call
  const { status, json, text } = await send(method, path, request)
  assert.equal(status, 200, `${method} ${path} answered ${status}: ${text}`)
  return json
}

/** Moves the clock to this time. It never goes back. */
export const moveTo = async ({ harness }: Pick<Demo, 'harness'>, at: number): Promise<void> => {
  const forward = at - harness.ctx.clock.now().getTime()
  if (forward > 0) await harness.advance(forward)
}

/** An account with a live and a test agent and a key for each, and two operators. */
export const makeDemo = async (
  harness: Harness,
  random: Random,
  options: Pick<Demo, 'size' | 'pay'>,
): Promise<Demo> => {
  const ownerEmail = 'owner@demo.example'
  const owner = openConsole(harness)
  await enter(harness, owner, ownerEmail, 'Demo Shop')
  const { json: account } = await owner.get('account')
  const makeAgent = async (mode: Mode): Promise<DemoAgent> => {
    const key = await owner.bearer(mode)
    const { apiKey } = await call({ harness }, 'POST', '/api/agents/keys', {
      key,
      body: { scopes: [...scopes] },
    })
    return { agentId: account.agents[mode].id, mode, apiKey }
  }
  const [live, test] = [await makeAgent('live'), await makeAgent('test')]
  for (const role of ['developer', 'viewer'])
    await owner.post('people', { email: `${role}@demo.example`, role })
  const ada = await operators.create(harness.ctx, 'machine', 'Demo Ada')
  const grace = await operators.create(harness.ctx, 'machine', 'Demo Grace')
  return {
    harness,
    random,
    ...options,
    live,
    test,
    ownerEmail,
    operatorKeys: [ada.operatorKey, grace.operatorKey],
  }
}

/** Buys credits by card. */
export const buyCredits = async (demo: Demo): Promise<void> => {
  const { apiKey: key } = demo.live
  const readBalance = async (): Promise<number> =>
    (await call(demo, 'GET', '/api/agents/credits/balance', { key })).balance
  const before = await readBalance()
  const { checkoutUrl } = await call(demo, 'POST', '/api/agents/credits/buy', {
    key,
    body: { pack: 'growth' },
  })
  await demo.pay(new URL(checkoutUrl).pathname.split('/').at(-1) ?? '')
  await pollUntil('the credits are there', async () => (await readBalance()) > before)
}
