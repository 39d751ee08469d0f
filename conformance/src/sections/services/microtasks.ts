import { at, booleanAt, expectEqual, expectThat, numberAt, recordAt, textAt } from '../../expect.ts'
import { uniqueText, mintSession, testAgent } from '../../fixtures.ts'
import { expectObject, expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const next = 'GET /api/tasks/next'
const complete = 'POST /api/tasks/complete'
const verify = 'POST /api/agents/verify'
const jwks = 'GET /.well-known/jwks.json'

const nextFor = (world: RunContext, site?: string): Promise<HttpResponse> =>
  world.http.get('/api/tasks/next', site === undefined ? {} : { query: { site } })

const taskOf = async (world: RunContext): Promise<Record<string, unknown>> =>
  recordAt((await nextFor(world, (await testAgent(world)).agentId)).body, 'task')

const completedTask = oncePerRun(async (world) => {
  const task = await taskOf(world)
  const options = task['options']
  const body = {
    token: textAt(task, 'token'),
    answer: Array.isArray(options) ? options[0] : 'yes',
    memberRef: uniqueText('member'),
  }
  return { body, answer: await world.http.post('/api/tasks/complete', body) }
})

export const microTasks: Section = {
  name: 'Micro-tasks',
  statements: [
    {
      id: 'tasks-next.for-a-site',
      title: 'a site is given a task',
      needs: [next],
      run: async (world) => {
        const answer = await nextFor(world, (await testAgent(world)).agentId)
        expectStatus(answer, 200)
        recordAt(answer.body, 'task')
      },
    },
    {
      id: 'tasks-next.without-a-site',
      title: 'without a site there is a task all the same',
      needs: [next],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await nextFor(world)
        expectStatus(answer, 200)
        recordAt(answer.body, 'task')
      },
    },
    {
      id: 'tasks-next.unknown-site',
      title: 'for a site that nobody knows there is a task all the same',
      needs: [next],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await nextFor(world, uniqueText('site'))
        expectStatus(answer, 200)
        recordAt(answer.body, 'task')
      },
    },
    {
      id: 'tasks-next.fields',
      title: 'a task says what to do and carries the token that completes it',
      needs: [next],
      isProjectDecision: true,
      run: async (world) => {
        const task = await taskOf(world)
        for (const name of ['id', 'kind', 'prompt', 'token', 'expiresAt']) textAt(task, name)
        for (const name of ['estSeconds', 'rewardStars']) numberAt(task, name)
      },
    },
    {
      id: 'tasks-next.embeddable',
      title: 'a page of any site can fetch a task, and gets no cookie',
      needs: [next],
      isProjectDecision: true,
      run: async ({ http }) => {
        const origin = 'https://shop.example'
        const { headers, body } = await http.get('/api/tasks/next', { headers: { origin } })
        recordAt(body, 'task')
        expectEqual(headers.get('access-control-allow-origin'), origin, 'allowed origin')
        expectThat(headers.getSetCookie().length === 0, 'no cookie', headers.getSetCookie())
      },
    },
    {
      id: 'tasks-next.looked-at',
      title:
        'the picture of a task is another one each time, and the response has no text that is its answer',
      needs: [next],
      isProjectDecision: true,
      run: async (world) => {
        const pictures = new Set<unknown>()
        for (let i = 0; i < 3; i++) {
          const media = at(await taskOf(world), 'media')
          expectThat(Array.isArray(media) && media.length === 1, 'one picture', media)
          pictures.add(Array.isArray(media) ? media[0] : undefined)
        }
        expectEqual(pictures.size, 3, 'different pictures:')
      },
    },
    {
      id: 'tasks-next.words',
      title: 'people who do not see pictures are asked in words',
      needs: [next],
      isProjectDecision: true,
      run: async (world) => {
        const site = (await testAgent(world)).agentId
        const { body } = await world.http.get('/api/tasks/next', { query: { site, words: '1' } })
        const task = recordAt(body, 'task')
        expectThat(task['media'] === undefined, 'no picture', task['media'])
        textAt(task, 'prompt')
      },
    },
    {
      id: 'tasks-complete.another-site',
      title: 'a token of another site completes nothing',
      needs: [next, complete],
      isProjectDecision: true,
      run: async (world) => {
        const token = textAt(await taskOf(world), 'token')
        const body = { token, site: `agt_${'0'.repeat(28)}`, answer: '12345' }
        const refused = await world.http.post('/api/tasks/complete', body)
        expectEqual(at(refused.body, 'verified'), false, 'verified')
        expectEqual(at(refused.body, 'reason'), 'token_of_another_site', 'reason')
        const done = await world.http.post('/api/tasks/complete', { token, answer: '12345' })
        expectEqual(at(done.body, 'verified'), true, 'verified on its own site')
      },
    },
    {
      id: 'tasks-complete.recorded',
      title: 'a completion is recorded',
      needs: [next, complete],
      run: async (world) => expectObject((await completedTask(world)).answer),
    },
    {
      id: 'tasks-complete.verified',
      title: 'on a test site an answered task counts as verified and names its session',
      needs: [next, complete],
      isProjectDecision: true,
      run: async (world) => {
        const { answer } = await completedTask(world)
        expectEqual(booleanAt(answer.body, 'verified'), true, 'verified')
        textAt(answer.body, 'sessionId')
        textAt(answer.body, 'completionId')
      },
    },
    {
      id: 'tasks-complete.mints',
      title: 'a verified completion becomes a credential of work through verify',
      needs: [next, complete, verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const sessionId = textAt((await completedTask(world)).answer.body, 'sessionId')
        const minted = await mintSession(world, await testAgent(world), sessionId)
        // A session that verify does not know would be a simulated view.
        expectEqual((await minted.claims())['kind'], 'work', 'kind')
      },
    },
    {
      id: 'tasks-complete.once',
      title: 'a task is completed once',
      needs: [next, complete],
      isProjectDecision: true,
      run: async (world) => {
        const { body, answer } = await completedTask(world)
        expectStatus(answer, 200)
        expectRefusal(await world.http.post('/api/tasks/complete', body), 409, 'task_token_used')
      },
    },
    {
      id: 'tasks-complete.nothing-given',
      title: 'a completion without a token is recorded as not verified, with the reason',
      needs: [complete],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.post('/api/tasks/complete', {})
        expectStatus(answer, 200)
        expectEqual(at(answer.body, 'verified'), false, 'verified')
        textAt(answer.body, 'reason')
      },
    },
    {
      id: 'tasks-complete.forged-token',
      title: 'a token that nobody issued verifies nothing',
      needs: [complete],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.post('/api/tasks/complete', { token: uniqueText('token'), answer: 'yes' })
        expectStatus(answer, 200)
        expectEqual(at(answer.body, 'verified'), false, 'verified')
      },
    },
  ],
}
