import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { moveProcessTime } from '../../test/fixtures/time/process-time.ts'
import type { PartStates } from './rules.ts'
import { cacheSeconds, makeStatusReader } from './status.ts'

const harness = await startHarness()
const passProcessTime = moveProcessTime({ mock })
after(() => mock.restoreAll())
const accept = 'text/html'
const laterMs = (cacheSeconds + 1) * 1_000
const readStates = async (): Promise<Record<string, string>> => {
  const { text } = await harness.call('GET', '/status')
  return Object.fromEntries(text.split('\n').map((line) => line.split(': ') as [string, string]))
}

/** The state of a part when the reading before has expired, and so has a check that passed, which counts for a second. */
const readLaterState = async (part: string): Promise<string | undefined> => {
  passProcessTime(1_001)
  await harness.advance(laterMs)
  return (await readStates())[part]
}

test('/status tells the state of each part, and of one that is switched off', async () => {
  await harness.runJobs()
  const { api, database, signer, chain } = await readStates()
  assert.deepEqual([api, database, signer, chain], ['working', 'working', 'working', 'off'])
  await harness.stopSigner()
  assert.equal((await readStates())['signer'], 'working', 'what was read is kept')
  assert.equal(await readLaterState('signer'), 'failing')
  const page = await harness.call('GET', '/status', { headers: { accept } })
  assert.equal(page.status, 200)
  assert.match(page.text, /Some parts do not work\.[\s\S]*Signer[\s\S]*not working/)
  await harness.startSigner()
  assert.equal(await readLaterState('signer'), 'working')
})

test('a worker that has not run for a minute is not working', async () => {
  await harness.advance(10 * 60_000)
  assert.equal(await readLaterState('worker'), 'failing')
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
