import { grantCredits } from '../../../server/test/fixtures/payments/ledger.ts'
import { makeScoredSession } from '../../../server/test/fixtures/scored-session.ts'
import { createBrowserTest, signIn, type TestPage } from '../browser-test.ts'
import type { Service } from '../service.ts'
import type { View } from '../views.ts'

type Agent = Awaited<ReturnType<Service['harness']['register']>>
const dayMs = 86_400_000

/** Components with the quality that the formula gives for them. */
const scores = [
  {
    quality: 0.82,
    components: { focus: 0.95, probe: 0.8, input: 0.85, gaze: null, device: null, history: null },
    flags: [],
    reasons: [],
    verified: true,
  },
  {
    quality: 0.71,
    components: { focus: 0.9, probe: 0.75, input: 0.55, gaze: null, device: null, history: null },
    flags: [],
    reasons: [],
    verified: true,
  },
  {
    quality: 0.1,
    components: { focus: 0.9, probe: 0.75, input: 0.6, gaze: null, device: null, history: null },
    flags: ['automation_env'],
    reasons: ['quality_low', 'flag_automation_env'],
    verified: false,
  },
] as const

/** An agent with sessions of several days, the oldest first, and credentials for some of them. */
const seedHistory = async ({ harness }: Service, mode: 'live' | 'test', days: number): Promise<Agent> => {
  await harness.advance(-(days - 1) * dayMs)
  const agent = await harness.register(mode)
  if (mode === 'live') await grantCredits(harness, agent, 500n)
  for (let day = 0; day < days; day++) {
    if (day > 0) await harness.advance(dayMs)
    for (let n = 0; n < 3 + ((day * 5) % 4); n++) {
      const score = scores[(day + n) % 3] ?? scores[0]
      const { sessionId } = await makeScoredSession(harness, agent, {
        ...score,
        flags: [...score.flags],
        reasons: [...score.reasons],
      })
      if (score.verified && n === 0)
        await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
    }
  }
  return agent
}

export type OpenedAgent = TestPage & {
  readonly agent: Agent
  /** Opens a page of the console, signed in. */
  readonly open: (hash: string) => Promise<void>
}

/** Tests of pages, each with an agent of its own. */
export const createPageTest = async () => {
  const inBrowser = await createBrowserTest()
  return (
    name: string,
    body: (opened: OpenedAgent) => Promise<void>,
    options: Partial<View> & { readonly mode?: 'live' | 'test'; readonly historyDays?: number } = {},
  ): void =>
    inBrowser(
      name,
      async (opened) => {
        const { mode = 'test', historyDays } = options
        const agent =
          historyDays === undefined
            ? await opened.service.harness.register(mode)
            : await seedHistory(opened.service, mode, historyDays)
        await body({
          ...opened,
          agent,
          open: async (hash) => {
            await opened.page.goto('about:blank')
            await opened.page.goto(`${opened.service.url}/console${hash}`)
            await signIn(opened.page, agent.apiKey)
          },
        })
      },
      options,
    )
}
