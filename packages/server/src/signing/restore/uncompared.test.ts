import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { backUp, openAgain, openRestoreHarness, restore } from '../../../test/fixtures/restore.ts'
import { buildJobs } from '../../wiring/index.ts'

const service = await openRestoreHarness()
after(() => service.close())
const { harness, mint, acknowledged } = service
const body = { name: 'Test', contactEmail: 'dev@example.com', mode: 'test' }
const countAgents = async () =>
  Number((await harness.owner.query('select count(*) as n from agents')).rows[0].n)

test('a process that has reached no signer writes nothing, and runs no job', async () => {
  await harness.stopSigner()
  const before = await countAgents()
  const again = await openAgain(harness)
  try {
    const refused = await again.call('POST', '/api/agents/register', { body })
    assert.deepEqual([refused.status, refused.json.error], [503, 'overloaded'])
    assert.equal(await countAgents(), before)
    await harness.owner.query("insert into mail_counts values ('x', 'confirm', '2020-01-01', 1)")
    const maintain = async () => {
      const job = buildJobs(harness.ctx).find(({ name }) => name === 'maintenance')
      assert.ok(job?.isPaused)
      if (!(await job.isPaused())) await job.run()
      return (await harness.owner.query("select from mail_counts where recipient_tag = 'x'")).rowCount
    }
    assert.equal(await maintain(), 1)
    await harness.startSigner()
    assert.equal(await maintain(), 0)
    const written = await again.call('POST', '/api/agents/register', { body })
    assert.ok(written.status < 300, written.text)
  } finally {
    await again.close()
  }
})

test('while no signer answers, a database that was exchanged for an older one is recognised by memory', async () => {
  const sessions = await service.makeSessions(2)
  await mint(sessions.slice(0, 1))
  await acknowledged()
  await backUp(harness)
  await mint(sessions.slice(1))
  await acknowledged()
  // It compares at its start.
  const again = await openAgain(harness)
  try {
    await harness.stopSigner()
    assert.ok((await again.call('POST', '/api/agents/register', { body })).status < 300)
    await restore(harness)
    // The connections are lost, and this write would open the first to the other database.
    const refused = await again.call('POST', '/api/agents/register', { body })
    assert.deepEqual([refused.status, refused.json.error], [503, 'restore_pending'])
  } finally {
    await again.close()
  }
})
