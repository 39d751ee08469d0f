// A question of an agent, answered by a person who is played in the worker's app: from the call to the answer with its
// credential and its recording. `npm run battery -- ask-human` runs more rounds and writes their times.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { verifyCredential, type Fetch } from '@pohf/verify'
import { makeWorker, type TestWorker } from '../../server/test/fixtures/people/worker.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { findChromium, launch } from './browser.ts'
import { answerTextQuestions, openContext, phone } from './worker-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = skip === false ? await startWorkerFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

const rounds = Number(process.env['POHF_ASK_ROUNDS'] ?? '1')
/** Where the battery wants the times of each round. */
const figuresFile = process.env['POHF_ASK_FIGURES']

type Fixture = NonNullable<typeof fixture>
type Agent = Awaited<ReturnType<Fixture['harness']['register']>>
/** The seconds of one round, from the call of the agent. */
type Round = { readonly claimed: number; readonly recorded: number; readonly answered: number }

const words = ['calm', 'loud', 'warm', 'cold'] as const

const openWork = async (worker: TestWorker, url: string): Promise<Page> => {
  assert.ok(browser)
  const { context, page } = await openContext(browser, phone)
  const [name = '', value = ''] = worker.cookie.split('=')
  await context.addCookies([
    { name, value, domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Strict' },
  ])
  await page.goto(`${url}/work`)
  await page.locator('h1', { hasText: 'There is no work right now.' }).waitFor()
  return page
}

const checkEvidence = async (
  { harness }: Fixture,
  agent: Agent,
  answered: { readonly sessionId: string; readonly credential: { readonly pohf_jwt: string } },
): Promise<void> => {
  const fetchFrom: Fetch = async (address) => {
    const { text, status } = await harness.call('GET', new URL(address).pathname)
    return new Response(text, { status })
  }
  const checked = await verifyCredential(answered.credential.pohf_jwt, {
    issuer: harness.ctx.config.BASE_URL,
    policy: { kinds: ['work'], minAssurance: 'low', minQuality: 0.6, status: 'if-present', allowTest: true },
    fetch: fetchFrom,
  })
  assert.ok(checked.ok, checked.ok ? '' : checked.message)
  const recording = await harness.call('GET', `/api/agents/sessions/${answered.sessionId}/chunks`, {
    key: agent.apiKey,
  })
  assert.equal(recording.status, 200, recording.text)
  assert.ok(recording.json.chunks.length > 1, 'the recording of the worker can be played')
}

/** The agent asks; the person, who has the page open, takes the question, answers it and hands it in. */
const playRound = async (given: Fixture, agent: Agent, page: Page, round: number): Promise<Round> => {
  const { harness, url } = given
  const word = words[round % words.length] ?? 'calm'
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1_000
  const asked = await harness.call('POST', '/api/agents/questions', {
    key: agent.apiKey,
    body: {
      question: `Type the word ${word}.`,
      answerSchema: { type: 'string', maxLength: 20 },
      budgetUsd: 1,
    },
  })
  assert.equal(asked.status, 200, asked.text)
  await page.goto(`${url}/work`)
  await page.getByRole('button', { name: 'Take this task' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Begin without a pointer' }).focus()
  const claimed = seconds()
  await page.keyboard.press('Enter')
  await page.locator('.answer').waitFor()
  await page.getByText(`Type the word ${word}.`).first().waitFor()
  await answerTextQuestions(page)
  const recorded = seconds()
  await page.locator('#f-single_answer').focus()
  await page.keyboard.type(word)
  await page.getByRole('button', { name: 'Hand in' }).focus()
  await page.keyboard.press('Enter')
  const read = async () =>
    (await harness.call('GET', `/api/agents/questions/${asked.json.questionId}`, { key: agent.apiKey })).json
  await pollUntil('the question is answered', async () => (await read()).status === 'answered')
  const answered = seconds()
  const question = await read()
  assert.equal(question.answer, word)
  await checkEvidence(given, agent, question)
  await page.locator('h1', { hasText: 'Handed in. Your check passed.' }).waitFor()
  return { claimed, recorded, answered }
}

test(`a person answers a question in the worker's app, ${rounds} times`, { skip }, async (t) => {
  assert.ok(fixture)
  const { harness, url } = fixture
  const [agent, home] = [await harness.register('test'), await harness.register('test')]
  const page = await openWork(await makeWorker(harness, home), url)
  const figures: Round[] = []
  for (let round = 0; round < rounds; round += 1) {
    const times = await playRound(fixture, agent, page, round)
    t.diagnostic(`round ${round + 1}: ${JSON.stringify(times)}`)
    figures.push(times)
    if (figuresFile) writeFileSync(figuresFile, JSON.stringify(figures))
  }
})
