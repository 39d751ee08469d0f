// What the benches of growth and costs measure: each operation prepares calls that a person, a page or an agent makes.
import type { Client } from 'pg'
import type { TestRequest, TestResponse } from '../../../packages/server/test/fixtures/harness.ts'
import { openRecorder, type Recorder } from '../../../packages/server/test/fixtures/people/recorder.ts'
import { makeSeeder } from '../verify-seed.ts'

export type GrowthAgent = { readonly agentId: string; readonly apiKey: string }
type Call = () => Promise<void>
export type Operation = {
  readonly name: string
  /** Makes what the calls need, outside the measurement. */
  readonly prepare: (count: number) => Promise<readonly Call[]>
}

const makeSend =
  (baseUrl: string) =>
  async (method: string, path: string, { key, body, headers }: TestRequest): Promise<TestResponse> => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`)
    const { status } = response
    return { status, headers: Object.fromEntries(response.headers), text, json: JSON.parse(text) }
  }

type Send = ReturnType<typeof makeSend>

const times = async <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> => {
  const made: T[] = []
  for (let index = 0; index < count; index++) made.push(await make(index))
  return made
}

const onRecorders =
  (make: () => Promise<Recorder>, act: (recorder: Recorder) => Promise<unknown>): Operation['prepare'] =>
  async (count) =>
    (await times(count, make)).map((recorder) => async () => void (await act(recorder)))

/** What people and their pages do at a site. */
const pageOperations = (send: Send, site: string): readonly Operation[] => {
  const open = (): Promise<Recorder> => openRecorder({ send, site, words: true })
  const openWithChunk = async (): Promise<Recorder> => {
    const recorder = await open()
    await recorder.chunk()
    return recorder
  }
  return [
    {
      name: 'open a session',
      prepare: async (count) => Array.from({ length: count }, () => async () => void (await open())),
    },
    { name: 'chunk', prepare: onRecorders(openWithChunk, (recorder) => recorder.chunk()) },
    { name: 'finish', prepare: onRecorders(openWithChunk, (recorder) => recorder.finish()) },
  ]
}

/** What agents do about sessions that were scored. */
const sessionOperations = (
  send: Send,
  client: Client,
  agents: readonly GrowthAgent[],
): readonly Operation[] => {
  const seed = makeSeeder(client, 'absent')
  const owners = agents.map(({ agentId }) => agentId)
  const ofSeeded =
    (call: (sessionId: string, key: string) => Promise<unknown>): Operation['prepare'] =>
    async (count) => {
      const prefix = await seed(owners, count)
      return Array.from({ length: count }, (_, n) => async () => {
        await call(`${prefix}${n}`, agents[n % agents.length]?.apiKey ?? '')
      })
    }
  return [
    {
      name: 'verify',
      prepare: ofSeeded((sessionId, key) => send('POST', '/api/agents/verify', { key, body: { sessionId } })),
    },
    {
      name: 'read a session',
      prepare: ofSeeded((sessionId, key) => send('GET', `/api/agents/sessions/${sessionId}`, { key })),
    },
  ]
}

/** What a page and an agent report about a view that was verified. */
const viewOperations = (
  send: Send,
  client: Client,
  { agentId, apiKey }: GrowthAgent,
): readonly Operation[] => {
  const seed = makeSeeder(client, 'absent')
  const ofViews =
    (call: (vt: string) => Promise<unknown>): Operation['prepare'] =>
    async (count) => {
      const prefix = await seed([agentId], count)
      const tokens = await times(count, async (n) => {
        const body = { sessionId: `${prefix}${n}` }
        const { json } = await send('POST', '/api/agents/verify', { key: apiKey, body })
        return (json as { vt: string }).vt
      })
      return tokens.map((vt) => async () => void (await call(vt)))
    }
  return [
    {
      name: 'first beacon of a view',
      prepare: ofViews((vt) =>
        send('POST', '/api/track/event', {
          body: { vt, type: 'engaged', eventId: 'one', path: '/landing', props: { depth: 50 } },
        }),
      ),
    },
    {
      name: 'conversion with its event',
      prepare: ofViews((vt) =>
        send('POST', '/api/agents/track/conversion', {
          key: apiKey,
          body: { vt, name: 'sale', value: 9.9, currency: 'EUR' },
        }),
      ),
    },
  ]
}

const registration = (send: Send): Operation => {
  let registered = 0
  return {
    name: 'registration',
    prepare: async (count) =>
      Array.from({ length: count }, () => async () => {
        const contactEmail = `r${(registered += 1)}@registered.example`
        await send('POST', '/api/agents/register', { body: { name: 'Bench', contactEmail, mode: 'test' } })
      }),
  }
}

const aSecondAgo = (): string => new Date(Date.now() - 1_000).toISOString()

/** What an agent reads about itself. */
const readOperations = (send: Send, key: string): readonly Operation[] => {
  const reads = (pathOf: () => string): Operation['prepare'] => {
    const read = async () => void (await send('GET', pathOf(), { key }))
    return async (count) => Array.from({ length: count }, () => read)
  }
  return [
    { name: 'balance', prepare: reads(() => '/api/agents/credits/balance') },
    { name: 'events', prepare: reads(() => '/api/agents/events') },
    {
      name: 'metrics of a second',
      prepare: reads(() => `/api/agents/metrics?since=${aSecondAgo()}&limit=10`),
    },
  ]
}

export const makeOperations = (
  baseUrl: string,
  client: Client,
  agents: readonly GrowthAgent[],
): readonly Operation[] => {
  const send = makeSend(baseUrl)
  const [owner] = agents
  if (!owner) throw new Error('the growth bench has no agent to call as')
  return [
    ...sessionOperations(send, client, agents),
    ...pageOperations(send, owner.agentId),
    ...viewOperations(send, client, owner),
    ...readOperations(send, owner.apiKey),
    registration(send),
  ]
}
