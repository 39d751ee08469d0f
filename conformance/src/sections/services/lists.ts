import {
  at,
  expectEqual,
  expectThat,
  filledListAt,
  fractionAt,
  instantAt,
  listAt,
  numberAt,
  textAt,
} from '../../expect.ts'
import { mintSession, otherAgent, registerAgent, uniqueText, type Agent } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const credentials = 'GET /api/agents/credentials'
const credential = 'GET /api/agents/credentials/{credentialId}'
const sessions = 'GET /api/agents/sessions'
const requests = 'GET /api/agents/requests'
const usage = 'GET /api/agents/usage'

/** An agent with three credentials. */
const seeded = oncePerRun(async (world) => {
  const agent = await registerAgent(world, 'test')
  const minted = []
  for (let n = 0; n < 3; n++) minted.push(await mintSession(world, agent, uniqueText('session')))
  return { agent, minted }
})

const get = (
  world: RunContext,
  agent: Agent,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> => world.http.get(path, { key: agent.apiKey, query })

/** A request is listed about a second after its answer. */
const attemptsMax = 20
const findRequest = async (world: RunContext, agent: Agent, requestId: string): Promise<unknown> => {
  for (let attempt = 1; ; attempt++) {
    const answer = await get(world, agent, '/api/agents/requests', { requestId })
    expectStatus(answer, 200)
    const [row] = listAt(answer.body, 'requests')
    if (row !== undefined || attempt === attemptsMax) return row
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

export const lists: Section = {
  name: 'Lists and usage',
  statements: [
    {
      id: 'lists.credentials',
      title: 'credentials are listed newest first, and pages hold each of them once',
      needs: [credentials],
      isProjectDecision: true,
      run: async (world) => {
        const { agent, minted } = await seeded(world)
        const ids: string[] = []
        let query: Record<string, string> = { limit: '2' }
        for (let page = 0; page < 3; page++) {
          const answer = await get(world, agent, '/api/agents/credentials', query)
          expectStatus(answer, 200)
          for (const row of listAt(answer.body, 'credentials')) {
            ids.push(textAt(row, 'credentialId'))
            expectEqual(at(row, 'status'), 'active', 'status')
            fractionAt(row, 'quality')
            instantAt(row, 'issuedAt')
          }
          const next = at(answer.body, 'nextCursor')
          if (typeof next !== 'string') break
          query = { ...query, cursor: next }
        }
        const expected = minted.map(({ credentialId }) => credentialId).toReversed()
        expectEqual(ids.join(), expected.join(), 'ids')
      },
    },
    {
      id: 'lists.credential',
      title: 'a credential is read again with the token that was minted, by its own agent alone',
      needs: [credential],
      isProjectDecision: true,
      run: async (world) => {
        const { agent, minted } = await seeded(world)
        const [first] = minted
        const path = `/api/agents/credentials/${first?.credentialId ?? ''}`
        const answer = await get(world, agent, path)
        expectStatus(answer, 200)
        expectEqual(at(answer.body, 'pohf_jwt'), first?.jwt ?? '', 'token')
        expectEqual(at(answer.body, 'claims.jti'), first?.credentialId ?? '', 'jti')
        expectRefusal(await get(world, await otherAgent(world), path), 404, 'not_found')
      },
    },
    {
      id: 'lists.sessions',
      title: 'sessions are listed with their credential, and filters find them',
      needs: [sessions],
      isProjectDecision: true,
      run: async (world) => {
        const { agent, minted } = await seeded(world)
        const answer = await get(world, agent, '/api/agents/sessions', { status: 'sealed', verified: 'true' })
        expectStatus(answer, 200)
        const found = filledListAt(answer.body, 'sessions').map((row) => textAt(row, 'credentialId'))
        const expected = minted.map(({ credentialId }) => credentialId)
        expectEqual(found.toSorted().join(), expected.toSorted().join(), 'credentials of the sessions')
        const open = await get(world, agent, '/api/agents/sessions', { status: 'open' })
        expectEqual(listAt(open.body, 'sessions').length, 0, 'open sessions')
      },
    },
    {
      id: 'lists.cursor',
      title: 'a cursor that was changed, or belongs to another list, is refused',
      needs: [credentials, sessions],
      isProjectDecision: true,
      run: async (world) => {
        const { agent } = await seeded(world)
        const first = await get(world, agent, '/api/agents/credentials', { limit: '1' })
        const cursor = textAt(first.body, 'nextCursor')
        for (const [path, text] of [
          ['/api/agents/credentials', `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`],
          ['/api/agents/sessions', cursor],
        ] as const)
          expectRefusal(await get(world, agent, path, { limit: '1', cursor: text }), 400, 'validation_failed')
      },
    },
    {
      id: 'lists.requests',
      title: 'a request is found by its id, with its endpoint, status and code',
      needs: [requests],
      isProjectDecision: true,
      run: async (world) => {
        const { agent } = await seeded(world)
        const refused = await get(world, agent, '/api/agents/sessions', { limit: '0' })
        expectRefusal(refused, 400, 'validation_failed')
        const row = await findRequest(world, agent, refused.headers.get('x-request-id') ?? '')
        expectEqual(at(row, 'endpoint'), 'sessions.list', 'endpoint')
        expectEqual(at(row, 'status'), 400, 'status')
        expectEqual(at(row, 'code'), 'validation_failed', 'code')
        numberAt(row, 'durationMs')
      },
    },
    {
      id: 'lists.usage',
      title: 'usage counts the sessions and what they cost, in buckets without gaps',
      needs: [usage],
      isProjectDecision: true,
      run: async (world) => {
        const { agent } = await seeded(world)
        const answer = await get(world, agent, '/api/agents/usage', { bucket: 'hour' })
        expectStatus(answer, 200)
        expectEqual(at(answer.body, 'totals.verified'), 3, 'verified')
        expectEqual(at(answer.body, 'totals.spent'), 3, 'spent')
        const times = filledListAt(answer.body, 'series').map((row) => instantAt(row, 'at').getTime())
        expectThat(
          times.every((time, n) => n === 0 || time - (times[n - 1] ?? 0) === 3_600_000),
          'an hour between two buckets',
          times,
        )
        expectEqual(listAt(answer.body, 'quality').length, 10, 'bins of quality:')
      },
    },
  ],
}
