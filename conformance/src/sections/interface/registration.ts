import { expectEqual, expectThat, textAt } from '../../expect.ts'
import { uniqueText, registerAgent, testAgent } from '../../fixtures.ts'
import { expectObject, expectStatus, type HttpResponse } from '../../http.ts'
import { refusesInput, type Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const register = 'POST /api/agents/register'
const balance = 'GET /api/agents/credits/balance'
const contactEmail = 'conformance@example.com'

const registerWith = (world: RunContext, mode?: string): Promise<HttpResponse> =>
  world.http.post('/api/agents/register', {
    name: 'Conformance',
    contactEmail: `${uniqueText('conformance')}@example.com`,
    ...(mode === undefined ? {} : { mode }),
  })

const asTest = oncePerRun((world) => registerWith(world, 'test'))
const asLive = oncePerRun((world) => registerWith(world, 'live'))
const asDefault = oncePerRun((world) => registerWith(world))

export const registration: Section = {
  name: 'Registration',
  statements: [
    {
      id: 'register.answers',
      title: 'anyone gets a key for a name and a mail address',
      needs: [register],
      run: async (world) => {
        const answer = await asDefault(world)
        expectStatus(answer, 200)
        textAt(answer.body, 'apiKey')
        textAt(answer.body, 'agentId')
        textAt(answer.body, 'mode')
      },
    },
    {
      id: 'register.live-key-prefix',
      title: 'a live key is recognised by svc_live_',
      needs: [register],
      run: async (world) => {
        const key = textAt((await asLive(world)).body, 'apiKey')
        expectThat(/^svc_live_.+/.test(key), 'svc_live_ and more', key)
      },
    },
    {
      id: 'register.test-key-prefix',
      title: 'a test key is recognised by svc_test_',
      needs: [register],
      run: async (world) => {
        const key = textAt((await asTest(world)).body, 'apiKey')
        expectThat(/^svc_test_.+/.test(key), 'svc_test_ and more', key)
      },
    },
    {
      id: 'register.agent-id-prefix',
      title: 'an agent id is recognised by agt_',
      needs: [register],
      run: async (world) => {
        const id = textAt((await asTest(world)).body, 'agentId')
        expectThat(/^agt_.+/.test(id), 'agt_ and more', id)
      },
    },
    {
      id: 'register.mode-live',
      title: 'who asks for live gets live',
      needs: [register],
      run: async (world) => expectEqual(textAt((await asLive(world)).body, 'mode'), 'live', 'mode'),
    },
    {
      id: 'register.mode-test',
      title: 'who asks for test gets test',
      needs: [register],
      run: async (world) => expectEqual(textAt((await asTest(world)).body, 'mode'), 'test', 'mode'),
    },
    {
      id: 'register.mode-default',
      title: 'who names no mode gets live, and a live key',
      needs: [register],
      run: async (world) => {
        const { body } = await asDefault(world)
        expectEqual(textAt(body, 'mode'), 'live', 'mode')
        const key = textAt(body, 'apiKey')
        expectThat(key.startsWith('svc_live_'), 'svc_live_…', key)
      },
    },
    refusesInput('register.name-required', 'registration without a name is refused', register, {
      field: 'name',
      body: { contactEmail, mode: 'test' },
      isPublic: true,
    }),
    refusesInput('register.email-required', 'registration without a mail address is refused', register, {
      field: 'contactEmail',
      body: { name: 'Conformance', mode: 'test' },
      isPublic: true,
    }),
    refusesInput('register.email-form', 'a contact that is no mail address is refused', register, {
      field: 'contactEmail',
      body: { name: 'Conformance', contactEmail: 'nobody', mode: 'test' },
      isPublic: true,
    }),
    refusesInput('register.mode-known', 'a mode other than live and test is refused', register, {
      field: 'mode',
      body: { name: 'Conformance', contactEmail, mode: 'demo' },
      isPublic: true,
    }),
    refusesInput('register.name-is-text', 'a number does not pass for a name', register, {
      field: 'name',
      body: { name: 5, contactEmail, mode: 'test' },
      isPublic: true,
    }),
    {
      id: 'register.always-new',
      title: 'registering again gives another agent and another key',
      needs: [register],
      run: async (world) => {
        const [one, two] = [(await asTest(world)).body, (await registerWith(world, 'test')).body]
        const [keyOne, keyTwo] = [textAt(one, 'apiKey'), textAt(two, 'apiKey')]
        expectThat(keyOne !== keyTwo, 'two different keys', 'the same key')
        const [idOne, idTwo] = [textAt(one, 'agentId'), textAt(two, 'agentId')]
        expectThat(idOne !== idTwo, 'two different agents', idOne)
      },
    },
    {
      id: 'register.test-key-opens',
      title: 'a test key opens protected endpoints at once, without payment',
      needs: [register, balance],
      run: async (world) => {
        const { apiKey } = await registerAgent(world, 'test')
        expectObject(await world.http.get('/api/agents/credits/balance', { key: apiKey }))
      },
    },
    {
      id: 'register.live-key-opens',
      title: 'a live key opens protected endpoints at once',
      needs: [register, balance],
      run: async (world) => {
        const key = textAt((await asLive(world)).body, 'apiKey')
        expectObject(await world.http.get('/api/agents/credits/balance', { key }))
      },
    },
    {
      id: 'register.key-shown-once',
      title: "reading the agent's records later never shows the key again",
      needs: [register, balance],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const answer = await world.http.get('/api/agents/credits/balance', { key: apiKey })
        expectObject(answer)
        expectThat(!answer.text.includes(apiKey), 'no key in the answer', answer.text)
      },
    },
  ],
}
