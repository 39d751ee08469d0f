import { at, expectEqual, expectThat, numberAt, Skipped, textAt } from '../../expect.ts'
import { liveAgent, otherAgent, testAgent, verifyJwt, type Agent } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'
import type { Section } from '../../statement.ts'

const quote = 'POST /api/agents/questions/quote'
const ask = 'POST /api/agents/questions'
const read = 'GET /api/agents/questions/{questionId}'
const pay = 'POST /api/agents/questions/{questionId}/pay'

const question = {
  question: 'Which word is friendlier?',
  answerSchema: { enum: ['hello', 'greetings'] },
  budgetUsd: 10,
}
const askAs = (world: RunContext, agent: Agent, body: object = {}): Promise<HttpResponse> =>
  world.http.post('/api/agents/questions', { ...question, ...body }, { key: agent.apiKey })
const readAs = (world: RunContext, agent: Agent, questionId: string): Promise<HttpResponse> =>
  world.http.get(`/api/agents/questions/${questionId}`, { key: agent.apiKey })

const answered = oncePerRun(async (world) => {
  const agent = await testAgent(world)
  const asked = await askAs(world, agent, { simulate: true })
  expectStatus(asked, 200)
  return readAs(world, agent, textAt(asked.body, 'questionId'))
})

/** A question that waits for a payment over HTTP 402. A main network takes none in test mode. */
const unpaid = oncePerRun(async (world) => {
  const agent = await testAgent(world)
  const asked = await askAs(world, agent, { payWith: 'x402' })
  if (asked.status === 409 || asked.status === 503)
    throw new Skipped('this deployment takes no payments with test money')
  expectStatus(asked, 200)
  expectEqual(at(asked.body, 'status'), 'unpaid', 'status')
  return { agent, questionId: textAt(asked.body, 'questionId'), priceUsd: numberAt(asked.body, 'priceUsd') }
})
const payAs = (world: RunContext, agent: Agent, questionId: string): Promise<HttpResponse> =>
  world.http.post(`/api/agents/questions/${questionId}/pay`, undefined, { key: agent.apiKey })

/** An addition of this project: one question of an agent to a person. */
export const questions: Section = {
  name: 'Questions to people',
  statements: [
    {
      id: 'questions.quote',
      title: 'a quote tells the price and how many answers its expected time is taken from',
      needs: [quote],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const { budgetUsd: _, ...body } = question
        const quoted = await world.http.post('/api/agents/questions/quote', body, { key: apiKey })
        expectStatus(quoted, 200)
        expectThat(numberAt(quoted.body, 'priceUsd') > 0, 'a price', at(quoted.body, 'priceUsd'))
        numberAt(quoted.body, 'measuredUnits')
      },
    },
    {
      id: 'questions.answer',
      title: 'a simulated answer has the form of its schema and a credential that verifies, marked as a test',
      needs: [ask, read],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await answered(world)
        expectEqual(at(body, 'status'), 'answered', 'status')
        expectThat(['hello', 'greetings'].includes(textAt(body, 'answer')), 'an option', at(body, 'answer'))
        const { payload } = await verifyJwt(world, textAt(body, 'credential.pohf_jwt'))
        expectEqual(at(payload, 'test'), true, 'test')
      },
    },
    {
      id: 'questions.budget',
      title: 'a question that costs more than its budget is refused',
      needs: [ask],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(
          await askAs(world, await testAgent(world), { budgetUsd: 0.01 }),
          409,
          'price_above_max',
        ),
    },
    {
      id: 'questions.no-simulation-live',
      title: 'a live key gets no simulated answer',
      needs: [ask],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(
          await askAs(world, await liveAgent(world), { simulate: true }),
          400,
          'validation_failed',
        ),
    },
    {
      id: 'questions.plain-text',
      title:
        'a question with a link, markup or a request for personal data is refused by the name of the rule',
      needs: [ask],
      isProjectDecision: true,
      run: async (world) => {
        for (const [text, code] of [
          ['See https://example.com', 'link'],
          ['Is <b>this</b> bold?', 'html'],
          ['What is your home address?', 'asks_personal_data'],
        ]) {
          const refused = await askAs(world, await testAgent(world), { question: text })
          expectRefusal(refused, 400, 'validation_failed')
          expectEqual(at(refused.body, 'details.0.code'), code ?? '', 'the rule')
        }
      },
    },
    {
      id: 'questions.foreign',
      title: 'another agent does not see a question',
      needs: [ask, read],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await answered(world)
        expectRefusal(
          await readAs(world, await otherAgent(world), textAt(body, 'questionId')),
          404,
          'not_found',
        )
      },
    },
    {
      id: 'questions.pay-challenge',
      title: 'an unpaid question is answered with 402, exactly its price and a purchase id',
      needs: [ask, pay],
      isProjectDecision: true,
      run: async (world) => {
        const { agent, questionId, priceUsd } = await unpaid(world)
        const challenge = await payAs(world, agent, questionId)
        expectStatus(challenge, 402)
        const micro = String(Math.round(priceUsd * 1_000_000))
        expectEqual(at(challenge.body, 'accepts.0.maxAmountRequired'), micro, 'the price in millionths')
        textAt(challenge.body, 'purchase_id')
      },
    },
    {
      id: 'questions.pay-foreign',
      title: 'another agent cannot pay a question, and a paid question takes no second payment',
      needs: [ask, pay],
      isProjectDecision: true,
      run: async (world) => {
        const { questionId } = await unpaid(world)
        expectRefusal(await payAs(world, await otherAgent(world), questionId), 404, 'not_found')
        const { body } = await answered(world)
        const again = await payAs(world, await testAgent(world), textAt(body, 'questionId'))
        expectRefusal(again, 409, 'order_conflict')
      },
    },
  ],
}
