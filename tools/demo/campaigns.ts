// Campaigns of micro-tasks, answered in test mode where no recording is needed, and requests for capacity.
import { call, type Demo } from './service.ts'

const visitors = 4
const answersEach = 14
const options = ['fits', 'fits a little', 'does not fit']
const questions = [
  ...['canvas sandals', 'rubber boots', 'trail shoes', 'slippers', 'hiking boots', 'sneakers'].map(
    (shoe) => ({
      prompt: `Somebody searches for shoes for rain. Do ${shoe} fit?`,
      options,
    }),
  ),
  { prompt: 'Which is a fruit?', options: ['apple', 'hammer'], answer: 'apple' },
  { prompt: 'Which one can swim?', options: ['duck', 'table'], answer: 'duck' },
]

/** What most people say; the last visitor disagrees now and then. */
const chooseAnswer = (task: { id: string; options?: string[] }, visitor: number): string =>
  task.options === undefined
    ? 'any'
    : (task.options[visitor === visitors - 1 && task.id.endsWith('2') ? 1 : 0] ?? '')

const seedAnswers = async (demo: Demo): Promise<void> => {
  const { agentId, apiKey: key } = demo.test
  for (let n = 0; n < visitors; n++) {
    const body = { memberId: `customer-${2_000 + n}` }
    const { visitor } = await call(demo, 'POST', '/api/agents/tasks/visitor', { key, body })
    for (let done = 0; done < answersEach; done++) {
      const { task } = await call(demo, 'GET', `/api/tasks/next?site=${agentId}&visitor=${visitor}`)
      const answer = { token: task.token, answer: chooseAnswer(task, n) }
      await call(demo, 'POST', '/api/tasks/complete', { body: answer })
    }
  }
}

const requests = [
  { company: 'Harbour Books', name: 'Ines', hours: 40, category: 'judgement' },
  { company: 'North Wind Energy', name: 'Olav', hours: 600, notes: 'weekdays, in two languages' },
  { company: 'Lumen Museum', name: 'Mara', hours: 25 },
]

/** Requests for the month after next, one of them quoted. */
const seedForwards = async (demo: Demo): Promise<void> => {
  const now = demo.harness.ctx.clock.now()
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2)).toISOString().slice(0, 7)
  for (const [index, request] of requests.entries()) {
    const email = `${request.name.toLowerCase()}@example.com`
    const { orderId } = await call(demo, 'POST', '/api/forwards/order', {
      body: { ...request, email, month },
    })
    if (index === 2)
      await call(demo, 'POST', `/operator/forwards/${orderId}/move`, {
        key: demo.operatorKeys[0],
        body: { status: 'quoted', quotedUsdCents: 52_500 },
      })
  }
}

/** Campaigns of both agents, and what visitors answered; requests for capacity. */
export const seedCampaigns = async (demo: Demo): Promise<void> => {
  const create = (key: string, body: object) => call(demo, 'POST', '/api/agents/campaigns', { key, body })
  const { apiKey: key } = demo.test
  await create(key, { name: 'Shoes for rain', questions, agreement: 3, rewardStars: 2, budgetStars: 200 })
  await seedAnswers(demo)
  const { campaignId } = await create(key, { name: 'A first trial', questions: questions.slice(0, 2) })
  await call(demo, 'PATCH', `/api/agents/campaigns/${campaignId}`, { key, body: { status: 'ended' } })
  await create(demo.live.apiKey, { name: 'Search results', questions })
  await seedForwards(demo)
}
