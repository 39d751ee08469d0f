// What the client of the journey has in its hands: keys, and the answers that later steps build on.
import type { EndpointRef } from './api.ts'
import { Failure, Skipped, at, listAt, textAt } from './expect.ts'
import { uniqueText, type Mode } from './fixtures.ts'
import type { HttpResponse } from './http.ts'
import { openWebhookInbox } from './webhook-receiver.ts'
import type { Statement } from './statement.ts'
import { newWallet } from './wallet.ts'
import { oncePerRun, type RunContext } from './run-context.ts'

const clientRegistration = { name: 'Traveller', contactEmail: 'traveller@example.com' }

export const registered = {
  test: oncePerRun((world) =>
    world.http.post('/api/agents/register', { ...clientRegistration, mode: 'test' }),
  ),
  live: oncePerRun((world) => world.http.post('/api/agents/register', clientRegistration)),
}

const keyOf = async (world: RunContext, mode: Mode): Promise<string> => {
  const { body, text } = await registered[mode](world)
  const key = at(body, 'apiKey')
  if (typeof key !== 'string') throw new Failure(`a ${mode} key`, text)
  return key
}

export type Client = {
  readonly get: (path: string, query?: Readonly<Record<string, string>>) => Promise<HttpResponse>
  readonly post: (path: string, body?: unknown) => Promise<HttpResponse>
}

/** Calls without a key, or with the key of one mode. */
const clientOf = (world: RunContext, mode?: Mode): Client => {
  const options = async () => (mode === undefined ? {} : { key: await keyOf(world, mode) })
  return {
    get: async (path, query) => world.http.get(path, { ...(await options()), ...(query ? { query } : {}) }),
    post: async (path, body) => world.http.post(path, body, await options()),
  }
}

type JourneyClients = {
  readonly world: RunContext
  readonly anonymous: Client
  readonly test: Client
  readonly live: Client
}

/** One step of the journey, reported like any other statement. */
export const step = (
  id: string,
  title: string,
  needs: readonly EndpointRef[],
  run: (clientRegistration: JourneyClients) => Promise<void>,
): Statement => ({
  id: `journey.${id}`,
  title,
  needs,
  run: async (world) =>
    run({
      world,
      anonymous: clientOf(world),
      test: clientOf(world, 'test'),
      live: clientOf(world, 'live'),
    }),
})

export const availableWorkflows = oncePerRun((world) => clientOf(world).get('/api/workflows/available'))

/** The id of the first task on offer. */
export const firstWorkflowId = async (world: RunContext): Promise<string> => {
  const [first] = listAt((await availableWorkflows(world)).body, 'workflows')
  if (first === undefined) throw new Skipped('no work is on offer')
  return textAt(first, 'id')
}

export const buyPath = (workflowId: string): string =>
  `/api/agent/tasks/${encodeURIComponent(workflowId)}/buy`

export const placedOrder = oncePerRun((world) => {
  const request = { taskType: 'sort photos of bicycles', quantity: 3, maxPriceUsd: 20 }
  return clientOf(world, 'test').post('/api/agents/order', request)
})

/** The fields of an order are not shown, but the next call takes an orderId. */
export const orderId = async (world: RunContext): Promise<string> =>
  textAt((await placedOrder(world)).body, 'orderId')

export const mailbox = oncePerRun((world) => openWebhookInbox(world))

export const subscribed = oncePerRun(async (world) => {
  const url = world.isLoopback ? (await mailbox(world)).url : 'https://traveller.example.com/hook'
  const request = { url, events: ['personhood.wallet_bound'] }
  return clientOf(world, 'test').post('/api/agents/webhooks', request)
})

export const boundWallet = oncePerRun(async (world) => {
  const client = clientOf(world, 'test')
  const { body } = await client.post('/api/agents/wallet/challenge')
  const account = newWallet()
  const request = {
    memberId: uniqueText('user'),
    wallet: account.address,
    walletSig: await account.signMessage({ message: textAt(body, 'message') }),
    walletNonce: textAt(body, 'nonce'),
  }
  return { wallet: account.address, answer: await client.post('/api/agents/verify-personhood', request) }
})
