import {
  at,
  expectEqual,
  expectThat,
  filledListAt,
  fractionAt,
  listAt,
  numberAt,
  recordAt,
} from '../../expect.ts'
import { sharedSession, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { pollUntil, type RunContext } from '../../run-context.ts'

const funnel = 'GET /api/agents/metrics/funnel'
const report = 'GET /api/agents/metrics/attention'
const verify = 'POST /api/agents/verify'

const readFunnel = async (world: RunContext): Promise<HttpResponse> =>
  world.http.get('/api/agents/metrics/funnel', { key: (await testAgent(world)).apiKey })

export const verifiedFunnel: Section = {
  name: 'GET /api/agents/metrics/funnel',
  statements: [
    {
      id: 'funnel.steps',
      title: 'the funnel counts views, landed, engaged and conversions',
      needs: [funnel],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await readFunnel(world)
        expectStatus(answer, 200)
        for (const name of ['views', 'landed', 'engaged', 'conversions']) numberAt(answer.body, name)
      },
    },
    {
      id: 'funnel.rates-and-value',
      title: 'the funnel gives the rate of each step and the value by currency',
      needs: [funnel],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await readFunnel(world)
        for (const name of ['landed', 'engaged', 'conversion']) fractionAt(body, `rates.${name}`)
        recordAt(body, 'value')
      },
    },
    {
      id: 'funnel.verified-view',
      title: 'a verified view enters the funnel',
      needs: [funnel, verify],
      isProjectDecision: true,
      run: async (world) => {
        await sharedSession(world)
        const answer = await pollUntil(
          world,
          () => readFunnel(world),
          (answer) => Number(at(answer.body, 'views')) > 0,
        )
        expectThat(numberAt(answer.body, 'views') >= 1, 'at least one view', answer.text)
      },
    },
    {
      id: 'funnel.drop-off',
      title: 'the steps of the funnel come in order, each with its share of the views',
      needs: [funnel],
      isProjectDecision: true,
      run: async (world) => {
        const steps = filledListAt((await readFunnel(world)).body, 'steps')
        expectEqual(
          steps.map((step) => at(step, 'step')).join(' '),
          'views landed engaged converted',
          'steps:',
        )
        for (const step of steps) fractionAt(step, 'rate')
      },
    },
  ],
}

const readReport = async (
  world: RunContext,
  query: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> =>
  world.http.get('/api/agents/metrics/attention', { key: (await testAgent(world)).apiKey, query })

export const attentionReport: Section = {
  name: 'GET /api/agents/metrics/attention',
  statements: [
    {
      id: 'attention.figures',
      title: 'the report has quality, heat, flags, probes, checks and pages of a period',
      needs: [report],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await readReport(world)
        expectStatus(answer, 200)
        recordAt(answer.body, 'summary')
        fractionAt(answer.body, 'threshold')
        filledListAt(answer.body, 'series')
        expectEqual(listAt(answer.body, 'quality').length, 20, 'buckets of quality:')
        for (const name of ['heat', 'flags', 'pages']) listAt(answer.body, name)
        for (const name of ['probes.shown', 'probes.passed', 'checks.started', 'checks.abandoned'])
          numberAt(answer.body, name)
      },
    },
    {
      id: 'attention.counts-a-view',
      title: 'a verified view is in the report: in its sums, its series and its heat',
      needs: [report, verify],
      isProjectDecision: true,
      run: async (world) => {
        await sharedSession(world)
        const { body } = await pollUntil(
          world,
          () => readReport(world),
          (answer) => Number(at(answer.body, 'summary.views')) > 0,
        )
        const views = numberAt(body, 'summary.views')
        const sumOf = (name: string) =>
          listAt(body, name).reduce<number>((sum, row) => sum + numberAt(row, 'views'), 0)
        expectEqual(sumOf('series'), views, 'views of the series:')
        expectEqual(sumOf('heat'), views, 'views of the heat:')
      },
    },
    {
      id: 'attention.filters',
      title: 'a filter by a site without views leaves none',
      needs: [report, verify],
      isProjectDecision: true,
      run: async (world) => {
        await sharedSession(world)
        const { body } = await readReport(world, { site: 'nobody.example' })
        expectEqual(numberAt(body, 'summary.views'), 0, 'views:')
        expectEqual(at(body, 'site'), 'nobody.example', 'site:')
      },
    },
    ...[
      {
        id: 'attention.time-zone-known',
        title: 'a time zone that nobody knows is refused',
        query: { timezone: 'Mars/Olympus' },
      },
      {
        id: 'attention.site-is-a-host',
        title: 'a site that is no host is refused',
        query: { site: 'https://shop.example/' },
      },
      {
        id: 'attention.period-bounds',
        title: 'a period of more than 399 days is refused',
        query: { since: '2020-01-01' },
      },
    ].map(({ id, title, query }) => ({
      id,
      title,
      needs: [report] as const,
      isProjectDecision: true as const,
      run: async (world: RunContext) =>
        expectRefusal(await readReport(world, query), 400, 'validation_failed'),
    })),
  ],
}
