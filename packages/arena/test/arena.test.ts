import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { loadBot, bots } from '../src/bots/index.ts'
import { createRandom, generatorOf, type StrokeLibrary } from '../src/index.ts'
import { runBot, tableOf } from '../src/run.ts'

const harness = await startHarness()
const baseUrl = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const { apiKey, agentId } = await harness.register()

const library: StrokeLibrary = Array.from({ length: 60 }, (_, index) =>
  generatorOf('sigma_lognormal')(createRandom(index), { x: 100, y: 100 }, { x: 150 + index * 15, y: 400 }),
)
const given = {
  target: { baseUrl, site: agentId },
  pageUrl: undefined,
  library,
  seed: 1,
  apiKey,
  concurrency: 4,
}

/** Sessions run in real time: a few seconds, all of them at once. */
test('a script without a browser is taken for a person: the limit that we publish', async (t) => {
  const names = ['protocol_bot', 'lean_script']
  const results = await Promise.all(
    names.map((name) => {
      const bot = bots.get(name)
      assert.ok(bot)
      return runBot({ ...given, name, bot, sessions: 2 })
    }),
  )
  for (const { name, played } of results)
    for (const { fault, outcome, judgement } of played) {
      assert.equal(fault, undefined, name)
      assert.match(outcome?.status ?? '', /^(closed|scored)$/, name)
      assert.ok(judgement && judgement.evidence.probes >= 2, name)
      assert.ok(
        judgement.evidence.hits >= 2,
        `${name} hit ${judgement.evidence.hits} of ${judgement.evidence.probes}`,
      )
    }
  const words = results.find(({ name }) => name === 'lean_script')
  assert.ok(words)
  assert.ok(
    words.played.every(({ judgement }) => judgement?.verified),
    'the alternative is no longer a way in: docs/evidence/arena.md and docs/decisions/attention-checks.md say that it is',
  )
  // Two questions, the second answered once the page was seen for long enough: an earlier answer brings a third.
  for (const { judgement } of words.played)
    assert.deepEqual([judgement?.evidence.probes, judgement?.evidence.hits], [2, 2])
  const table = tableOf(results)
  t.diagnostic(`\n${table}`)
  assert.equal(table.split('\n').length, 2 + names.length)
})

test('a bot from a file is played, and one that answers nothing is not verified', async () => {
  const bot = await loadBot(new URL('../examples/bot.ts', import.meta.url).pathname)
  const { verified, played } = await runBot({ ...given, name: 'example', bot, sessions: 1 })
  assert.equal(played[0]?.fault, undefined)
  assert.equal(verified, 0)
})

test('a file without a bot is refused by name', async () => {
  await assert.rejects(
    loadBot(new URL('../src/random.ts', import.meta.url).pathname),
    /exports no function named bot/,
  )
})
