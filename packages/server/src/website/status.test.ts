import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHarness } from '../../test/fixtures/harness.ts'
import type { PartStates } from './rules.ts'
import { cacheSeconds, makeStatusReader } from './status.ts'

const harness = await startHarness()
const accept = 'text/html'
const laterMs = (cacheSeconds + 1) * 1_000
const readStates = async (): Promise<Record<string, string>> => {
  const { text } = await harness.call('GET', '/status')
  return Object.fromEntries(text.split('\n').map((line) => line.split(': ') as [string, string]))
}

/** Reads until a part has this state: a check that passed counts for a second of the real clock. */
const waitForState = async (part: string, state: string): Promise<void> => {
  for (let tries = 0; tries < 100; tries++) {
    await harness.advance(laterMs)
    if ((await readStates())[part] === state) return
    await sleep(50)
  }
  assert.fail(`${part} is never ${state}`)
}

test('/status tells the state of each part, and of one that is switched off', async () => {
  await harness.runJobs()
  const { api, database, signer, chain } = await readStates()
  assert.deepEqual([api, database, signer, chain], ['working', 'working', 'working', 'off'])
  await harness.stopSigner()
  assert.equal((await readStates())['signer'], 'working', 'what was read is kept')
  await waitForState('signer', 'failing')
  const page = await harness.call('GET', '/status', { headers: { accept } })
  assert.equal(page.status, 200)
  assert.match(page.text, /Some parts do not work\.[\s\S]*Signer[\s\S]*not working/)
  await harness.startSigner()
  await waitForState('signer', 'working')
})

test('a worker that has not run for a minute is not working', async () => {
  await harness.advance(10 * 60_000)
  await waitForState('worker', 'failing')
})

test('/status is in German on request', async () => {
  const page = await harness.call('GET', '/status?lang=de', { headers: { accept } })
  assert.match(page.text, /<html lang="de">[\s\S]*Datenbank/)
})

test('visitors at the same moment share one reading, and a failed one is not kept', async () => {
  let reads = 0
  let now = 0
  const states = { api: 'working' } as unknown as PartStates
  const read = makeStatusReader({ now: () => new Date(now) }, async () => {
    reads += 1
    if (reads === 1) throw new Error('planted')
    return states
  })
  await assert.rejects(Promise.all([read(), read(), read()]), /planted/)
  assert.equal(reads, 1)
  await Promise.all([read(), read()])
  assert.equal(reads, 2)
  now = laterMs - 2_000
  await read()
  assert.equal(reads, 2)
  now = laterMs
  await read()
  assert.equal(reads, 3)
})
