import {
  at,
  booleanAt,
  expectEqual,
  expectThat,
  filledListAt,
  fractionAt,
  isRecord,
  listAt,
  numberAt,
  recordAt,
  textAt,
} from '../../expect.ts'
import {
  uniqueText,
  mintSession,
  registerAgent,
  sharedSession,
  otherAgent,
  testAgent,
  type Agent,
} from '../../fixtures.ts'
import { expectObject, expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import { refusesInput, type Section } from '../../statement.ts'
import { pollUntil, type RunContext } from '../../run-context.ts'

const event = 'POST /api/track/event'
const conversion = 'POST /api/agents/track/conversion'
const metrics = 'GET /api/agents/metrics'
const verify = 'POST /api/agents/verify'
const funnel = 'GET /api/agents/metrics/funnel'

/** The view token of a verified view. In the sandbox a simulated person views. */
const viewTokenOf = async (world: RunContext, agent: Agent): Promise<string> =>
  textAt((await mintSession(world, agent)).answer.body, 'vt')

const landedOf = async (world: RunContext, agent: Agent): Promise<{ readonly landed: number }> => {
  const answer = await world.http.get('/api/agents/metrics/funnel', { key: agent.apiKey })
  return { landed: numberAt(answer.body, 'landed') }
}

const origin = 'https://shop.example'
const beacon = (
  world: RunContext,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<HttpResponse> =>
  world.http.send({ method: 'POST', path: '/api/track/event', headers, body: JSON.stringify(body) })

export const beacons: Section = {
  name: 'POST /api/track/event',
  statements: [
    {
      id: 'track.records',
      title: 'an event that names a view token is recorded',
      needs: [event],
      run: async ({ http }) =>
        expectStatus(await http.post('/api/track/event', { vt: uniqueText('vt'), type: 'scroll' }), 200),
    },
    {
      id: 'track.send-beacon',
      title: 'an event in the form of sendBeacon, JSON under text/plain, is recorded',
      needs: [event],
      run: async (world) =>
        expectStatus(
          await beacon(world, { 'content-type': 'text/plain;charset=UTF-8' }, { vt: uniqueText('vt') }),
          200,
        ),
    },
    {
      id: 'track.no-cookie',
      title: 'recording sets no cookie',
      needs: [event],
      run: async ({ http }) => {
        const answer = await http.post('/api/track/event', { vt: uniqueText('vt'), type: 'scroll' })
        expectStatus(answer, 200)
        expectThat(answer.headers.getSetCookie().length === 0, 'no cookie', answer.headers.getSetCookie())
      },
    },
    {
      id: 'track.any-fields',
      title: 'an event with field names that nobody knows is no fault',
      needs: [event],
      isProjectDecision: true,
      run: async ({ http }) =>
        expectStatus(await http.post('/api/track/event', { [uniqueText('field')]: [1, { a: null }] }), 200),
    },
    {
      id: 'track.counts',
      title: 'the answer says how many events were recorded',
      needs: [event],
      isProjectDecision: true,
      run: async ({ http }) => {
        const { body } = await http.post('/api/track/event', { vt: uniqueText('vt'), type: 'scroll' })
        expectEqual(at(body, 'ok'), true, 'ok')
        numberAt(body, 'recorded')
      },
    },
    {
      id: 'track.any-site',
      title: 'a beacon with credentials from any site is let through by the browser',
      needs: [event],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await beacon(world, { 'content-type': 'application/json', origin }, {})
        expectStatus(answer, 200)
        expectEqual(answer.headers.get('access-control-allow-origin'), origin, 'allowed origin')
        expectEqual(answer.headers.get('access-control-allow-credentials'), 'true', 'allowed credentials')
      },
    },
    {
      id: 'track.preflight',
      title: "the browser's question before a JSON beacon is answered with yes",
      needs: [event],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.send({
          method: 'OPTIONS',
          path: '/api/track/event',
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type',
          },
        })
        expectStatus(answer, 200, 204)
        expectEqual(answer.headers.get('access-control-allow-origin'), origin, 'allowed origin')
        const allowed = answer.headers.get('access-control-allow-headers') ?? ''
        expectThat(/content-type/i.test(allowed), 'content-type among the allowed headers', allowed)
      },
    },
    {
      id: 'track.tied-to-a-view',
      title: 'an event with a genuine view token counts towards that view',
      needs: [event, verify, funnel],
      run: async (world) => {
        const agent = await registerAgent(world, 'test')
        const { landed } = await landedOf(world, agent)
        const vt = await viewTokenOf(world, agent)
        expectStatus(await world.http.post('/api/track/event', { vt, type: 'landed' }), 200)
        const counted = await pollUntil(
          world,
          () => landedOf(world, agent),
          (now) => now.landed > landed,
        )
        expectEqual(counted.landed, landed + 1, 'views that landed:')
      },
    },
  ],
}

const convert = async (world: RunContext, body: Readonly<Record<string, unknown>>): Promise<HttpResponse> =>
  world.http.post('/api/agents/track/conversion', body, { key: (await testAgent(world)).apiKey })

export const conversions: Section = {
  name: 'POST /api/agents/track/conversion',
  statements: [
    {
      id: 'conversion.answers',
      title: 'a conversion is answered with whether it could be attributed',
      needs: [conversion],
      run: async (world) => {
        const answer = await convert(world, { vt: uniqueText('vt'), name: 'signup' })
        expectStatus(answer, 200)
        booleanAt(answer.body, 'attributed')
      },
    },
    {
      id: 'conversion.with-value',
      title: 'a conversion may carry a value and its currency',
      needs: [conversion],
      run: async (world) => {
        const answer = await convert(world, {
          vt: uniqueText('vt'),
          name: 'sale',
          value: 12.5,
          currency: 'USD',
        })
        expectStatus(answer, 200)
        booleanAt(answer.body, 'attributed')
      },
    },
    {
      id: 'conversion.unknown-view',
      title: 'a conversion of a view that never was is not attributed',
      needs: [conversion],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await convert(world, { vt: uniqueText('vt'), name: 'signup' })
        expectEqual(at(body, 'attributed'), false, 'attributed')
      },
    },
    refusesInput('conversion.vt-required', 'a conversion without a view token is refused', conversion, {
      field: 'vt',
      body: { name: 'signup' },
    }),
    refusesInput('conversion.name-required', 'a conversion without a name is refused', conversion, {
      field: 'name',
      body: { vt: 'vt' },
    }),
    refusesInput('conversion.value-is-a-number', 'text does not pass for a value', conversion, {
      field: 'value',
      body: { vt: 'vt', name: 'sale', value: '12.5' },
    }),
    {
      id: 'conversion.attributed',
      title: 'a conversion with the token of a verified view is attributed',
      needs: [conversion, verify],
      run: async (world) => {
        const vt = await viewTokenOf(world, await testAgent(world))
        const answer = await convert(world, { vt, name: 'signup' })
        expectStatus(answer, 200)
        expectEqual(at(answer.body, 'attributed'), true, 'attributed')
      },
    },
    {
      id: 'conversion.of-another',
      title: "a conversion with the token of another agent's view is not attributed",
      needs: [conversion, verify],
      isProjectDecision: true,
      run: async (world) => {
        const vt = await viewTokenOf(world, await otherAgent(world))
        const answer = await convert(world, { vt, name: 'signup' })
        expectThat(at(answer.body, 'attributed') !== true, 'no attribution', answer.text)
      },
    },
  ],
}

const readMetrics = (
  world: RunContext,
  agent: Agent,
  query: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> => world.http.get('/api/agents/metrics', { key: agent.apiKey, query })

const rowsOf = (answer: HttpResponse): readonly unknown[] => {
  const rows = at(answer.body, 'rows')
  return Array.isArray(rows) ? rows : []
}

/** The row of the shared session's credential; roll-ups may take a moment. */
const sharedRow = async (world: RunContext): Promise<unknown> => {
  const { credentialId } = await sharedSession(world)
  const agent = await testAgent(world)
  const answer = await pollUntil(
    world,
    () => readMetrics(world, agent, { limit: '1000' }),
    (answer) => rowsOf(answer).some((row) => at(row, 'credentialId') === credentialId),
  )
  return rowsOf(answer).find((row) => at(row, 'credentialId') === credentialId)
}

const refusesQuery = (id: string, title: string, query: Readonly<Record<string, string>>) => ({
  id,
  title,
  needs: [metrics] as const,
  decided: true as const,
  run: async (world: RunContext) =>
    expectRefusal(await readMetrics(world, await testAgent(world), query), 400, 'validation_failed'),
})

export const attention: Section = {
  name: 'GET /api/agents/metrics',
  statements: [
    {
      id: 'metrics.json',
      title: 'the metrics are a summary and a list of rows',
      needs: [metrics],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await readMetrics(world, await testAgent(world))
        expectStatus(answer, 200)
        recordAt(answer.body, 'summary')
        listAt(answer.body, 'rows')
      },
    },
    {
      id: 'metrics.format-json',
      title: 'asking for json is the same as asking for nothing',
      needs: [metrics],
      run: async (world) => {
        expectObject(await readMetrics(world, await testAgent(world), { format: 'json' }))
      },
    },
    {
      id: 'metrics.row-of-a-credential',
      title: 'a verified view has a row that is tagged with its credential id',
      needs: [metrics, verify],
      isProjectDecision: true,
      run: async (world) => {
        const row = await sharedRow(world)
        expectThat(isRecord(row), 'a row with the credential id', row)
      },
    },
    {
      id: 'metrics.row-fields',
      title: 'a row tells focus, probe, input, gaze, quality and fraud flags',
      needs: [metrics, verify],
      isProjectDecision: true,
      run: async (world) => {
        const row = await sharedRow(world)
        for (const name of ['focus', 'probe', 'input', 'gaze', 'quality'])
          expectThat(
            at(row, name) === null || typeof at(row, name) === 'number',
            `${name} as a number or null`,
            row,
          )
        fractionAt(row, 'quality')
        listAt(row, 'flags')
      },
    },
    {
      id: 'metrics.summary-counts',
      title: 'the summary counts the views and how many were verified',
      needs: [metrics, verify],
      isProjectDecision: true,
      run: async (world) => {
        await sharedRow(world)
        const { body } = await readMetrics(world, await testAgent(world))
        const [views, verified] = [numberAt(body, 'summary.views'), numberAt(body, 'summary.verified')]
        expectThat(verified >= 1 && views >= verified, 'at least one verified view', { views, verified })
      },
    },
    {
      id: 'metrics.csv',
      title: 'the same rows come as CSV, with a header line',
      needs: [metrics, verify],
      run: async (world) => {
        await sharedRow(world)
        const { credentialId } = await sharedSession(world)
        const answer = await readMetrics(world, await testAgent(world), { format: 'csv', limit: '1000' })
        expectStatus(answer, 200)
        const type = answer.headers.get('content-type') ?? ''
        expectThat(type.startsWith('text/csv'), 'content type text/csv', type)
        const header = answer.text.split(/\r?\n/)[0] ?? ''
        expectThat(header.split(',').includes('credentialId'), 'a column credentialId', header)
        expectThat(answer.text.includes(credentialId), 'a row with the credential id', answer.text)
      },
    },
    {
      id: 'metrics.limit',
      title: 'limit bounds how many rows come',
      needs: [metrics, verify],
      run: async (world) => {
        const agent = await testAgent(world)
        await mintSession(world, agent)
        await sharedRow(world)
        expectEqual(rowsOf(await readMetrics(world, agent, { limit: '1' })).length, 1, 'rows:')
      },
    },
    {
      id: 'metrics.since',
      title: 'since leaves out what lies before it',
      needs: [metrics, verify],
      run: async (world) => {
        await sharedRow(world)
        const agent = await testAgent(world)
        const hourMs = 3_600_000
        const past = new Date(Date.now() - hourMs).toISOString()
        const future = new Date(Date.now() + hourMs).toISOString()
        filledListAt((await readMetrics(world, agent, { since: past })).body, 'rows')
        const later = await readMetrics(world, agent, { since: future })
        expectEqual(listAt(later.body, 'rows').length, 0, 'rows:')
      },
    },
    refusesQuery('metrics.format-known', 'a format other than json and csv is refused', { format: 'xml' }),
    refusesQuery('metrics.since-form', 'a since that is no time is refused', { since: 'yesterday' }),
    refusesQuery('metrics.limit-form', 'a limit that is no number is refused', { limit: 'many' }),
    refusesQuery('metrics.limit-bounds', 'a limit of 0 is refused', { limit: '0' }),
    {
      id: 'metrics.are-private',
      title: "no row of one agent shows in another's metrics",
      needs: [metrics, verify],
      run: async (world) => {
        await sharedRow(world)
        const { credentialId } = await sharedSession(world)
        const answer = await readMetrics(world, await otherAgent(world))
        expectStatus(answer, 200)
        expectThat(!answer.text.includes(credentialId), 'no row of another agent', answer.text)
      },
    },
  ],
}
