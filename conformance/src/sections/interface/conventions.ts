import { at, expectAbsent, expectEqual, expectThat, listAt, textAt, webAddressAt } from '../../expect.ts'
import { uniqueText, liveAgent, testAgent } from '../../fixtures.ts'
import { expectObject, expectRefusal, expectStatus } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { oncePerRun } from '../../run-context.ts'

const register = 'POST /api/agents/register'
const verify = 'POST /api/agents/verify'
const order = 'POST /api/agents/order'
const path = '/api/agents/register'

const newRegistration = () => ({
  name: 'Conformance',
  contactEmail: `${uniqueText('conformance')}@example.com`,
  mode: 'test',
})

const refusedRegistration = oncePerRun((world) => world.http.post(path, {}))

export const errorBody: Section = {
  name: 'Error body',
  statements: [
    {
      id: 'error.ok-is-false',
      title: 'a refused call says ok: false',
      needs: [register],
      run: async (world) => {
        const answer = await refusedRegistration(world)
        expectThat(answer.status >= 400, 'a refusal', answer.status)
        expectEqual(at(answer.body, 'ok'), false, 'ok')
      },
    },
    {
      id: 'error.text',
      title: 'a refused call carries its error as text',
      needs: [register],
      run: async (world) => {
        textAt((await refusedRegistration(world)).body, 'error')
      },
    },
    {
      id: 'error.is-json',
      title: 'the body of a refusal is JSON and says so',
      needs: [register],
      run: async (world) => {
        const answer = await refusedRegistration(world)
        expectThat(answer.status >= 400, 'a refusal', answer.status)
        const type = answer.headers.get('content-type')
        expectThat(/^application\/json\b/.test(type ?? ''), 'content type application/json', type)
        expectThat(answer.body !== undefined, 'a JSON body', answer.text)
      },
    },
    {
      id: 'error.buy-is-an-address',
      title: 'out of credits, the refusal carries an absolute address where credits are bought',
      needs: [verify],
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const answer = await world.http.post(
          '/api/agents/verify',
          { sessionId: uniqueText('session') },
          { key: apiKey },
        )
        expectRefusal(answer, 402)
        webAddressAt(answer.body, 'buy')
      },
    },
    {
      id: 'error.buy-only-on-402',
      title: 'a refusal that is not about credits has no buy link',
      needs: [register],
      run: async (world) => {
        const answer = await refusedRegistration(world)
        expectRefusal(answer, 400)
        expectAbsent(answer.body, 'buy')
      },
    },
    {
      id: 'error.unknown-path',
      title: 'an unknown path is refused in the same form',
      needs: [],
      isProjectDecision: true,
      run: async ({ http }) =>
        expectRefusal(await http.get(`/api/${uniqueText('nothing')}`), 404, 'not_found'),
    },
    {
      id: 'error.wrong-method',
      title: 'a known path with the wrong method is refused in the same form',
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) => expectRefusal(await http.get(path), 405, 'method_not_allowed'),
    },
    {
      id: 'error.broken-json',
      title: 'a body that is not JSON is refused in the same form',
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) =>
        expectRefusal(
          await http.send({
            method: 'POST',
            path,
            headers: { 'content-type': 'application/json' },
            body: '{"name":',
          }),
          400,
          'invalid_json',
        ),
    },
    {
      id: 'error.names-every-field',
      title: 'a refusal of the input lists each field at fault',
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.post(path, { mode: 'test' })
        expectRefusal(answer, 400, 'validation_failed')
        const paths = listAt(answer.body, 'details').map((detail) => String(at(detail, 'path')))
        for (const field of ['name', 'contactEmail'])
          expectThat(
            paths.some((given) => given.includes(field)),
            `${field} in details`,
            paths,
          )
      },
    },
    {
      id: 'error.request-id',
      title: 'a refusal carries the request id of its response header',
      needs: [register],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await refusedRegistration(world)
        expectEqual(
          textAt(answer.body, 'requestId'),
          answer.headers.get('x-request-id') ?? '',
          'requestId of the header',
        )
      },
    },
    {
      id: 'error.links-its-page',
      title: 'a refusal links the page that explains it',
      needs: [register],
      isProjectDecision: true,
      run: async (world) => {
        webAddressAt((await refusedRegistration(world)).body, 'docs')
      },
    },
  ],
}

export const conventions: Section = {
  name: 'Conventions',
  statements: [
    {
      id: 'conventions.json-answers',
      title: 'answers are JSON and say so',
      needs: [register],
      run: async ({ http }) => {
        const answer = await http.post(path, newRegistration())
        expectObject(answer)
        const type = answer.headers.get('content-type')
        expectThat(/^application\/json\b/.test(type ?? ''), 'content type application/json', type)
      },
    },
    {
      id: 'conventions.json-only',
      title: 'a form instead of JSON is refused',
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) =>
        expectRefusal(
          await http.send({
            method: 'POST',
            path,
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: 'name=a',
          }),
          415,
        ),
    },
    {
      id: 'conventions.empty-body',
      title: 'a POST without a body counts as one without fields',
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) => expectRefusal(await http.post(path), 400, 'validation_failed'),
    },
    {
      id: 'conventions.unknown-fields',
      title: 'a field that nobody knows does no harm',
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.post(path, { ...newRegistration(), [uniqueText('field')]: 1 })
        expectStatus(answer, 200)
        textAt(answer.body, 'apiKey')
      },
    },
    {
      id: 'conventions.unknown-fields-named',
      title: 'a test key is told which fields were not understood',
      needs: [order],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const body = { taskType: uniqueText('task'), quantity: 1, invented: true }
        const answer = await world.http.post('/api/agents/order', body, { key: apiKey })
        expectStatus(answer, 200)
        expectEqual(answer.headers.get('x-unknown-fields'), 'invented', 'X-Unknown-Fields')
      },
    },
    {
      id: 'conventions.own-request-id',
      title: "the caller's request id is kept",
      needs: [register],
      isProjectDecision: true,
      run: async ({ http }) => {
        const id = uniqueText('call').slice(0, 40)
        const answer = await http.post(path, {}, { headers: { 'x-request-id': id } })
        expectEqual(answer.headers.get('x-request-id'), id, 'X-Request-Id')
      },
    },
    {
      id: 'conventions.idempotency-key',
      title: 'a call repeated under one Idempotency-Key is done once and answered alike',
      needs: [order],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const options = { key: apiKey, headers: { 'idempotency-key': uniqueText('idempotency') } }
        const body = { taskType: uniqueText('task'), quantity: 1 }
        const first = await world.http.post('/api/agents/order', body, options)
        const second = await world.http.post('/api/agents/order', body, options)
        expectStatus(first, 200)
        textAt(first.body, 'orderId')
        expectEqual(second.text, first.text, 'the first answer')
        expectEqual(second.headers.get('idempotent-replayed'), 'true', 'Idempotent-Replayed')
      },
    },
    {
      id: 'conventions.idempotency-key-reused',
      title: 'an Idempotency-Key does not serve for a different body',
      needs: [order],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const options = { key: apiKey, headers: { 'idempotency-key': uniqueText('idempotency') } }
        const body = { taskType: uniqueText('task'), quantity: 1 }
        expectStatus(await world.http.post('/api/agents/order', body, options), 200)
        const other = await world.http.post('/api/agents/order', { ...body, quantity: 2 }, options)
        expectRefusal(other, 422, 'idempotency_key_reused')
      },
    },
  ],
}
