import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { makeDisputeSteps } from '../../../test/fixtures/payments/disputes.ts'
import { disputeJob, type DisputeDeps } from './pass.ts'

const card = await startCardHarness()
const { harness } = card
const { buyPack, mint, statesOf, allAre, eventsOf, disputesOf, open, close, job, changeState, runPass } =
  makeDisputeSteps(card)

type Agent = Awaited<ReturnType<typeof card.liveAgent>>

/** No index of a status list twice. */
let statusIndex = 1_000_000
/** Credentials that are written and paid for as the mint does it, and the first of them, which it minted. */
const spendMany = async (agent: Agent, count: number): Promise<string[]> => {
  const [sample] = await mint(agent, 1)
  const { rows } = await harness.owner.query<{ id: string }>(
    `with made as (
       insert into credentials (agent_id, credential_id, at, mode, kind, expires_at, jwt, answer, status_list, status_idx, charged)
       select agent_id, credential_id || '_' || lpad(i::text, 6, '0'), at, mode, kind, expires_at, jwt, answer, status_list,
         $3::int + i, true
       from credentials, generate_series(1, $2::int) i where credential_id = $1 order by i returning agent_id, credential_id
     ), states as (
       insert into credential_states (agent_id, credential_id, seq, state, reason)
       select agent_id, credential_id, 1, 'issued', 'minted' from made
     ) select credential_id as id from made order by 1`,
    [sample, count, statusIndex],
  )
  statusIndex += count + 1
  const client = await harness.owner.connect()
  await client.query("set pohf.tenant = 'system'")
  await client.query(
    `select ledger_post($1, 'live', 'spend', id, 'ent_' || id, array['credits', 'consumed:credit'],
       array['credit', 'credit'], array[-1, 1]::bigint[]) from unnest($2::text[]) id`,
    [agent.agentId, rows.map(({ id }) => id)],
  )
  client.release(true)
  return [sample ?? '', ...rows.map(({ id }) => id)]
}
test('an interrupted pass goes on where it stopped, and what cannot be changed is skipped and counted', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent, 'growth')
  const ids = await spendMany(agent, 249)
  const dispute = await open(pack)
  const run = (change: DisputeDeps['changeCredentialState']) =>
    disputeJob({ ctx: harness.ctx, changeCredentialState: change }).run()
  const suspended = async () => (await statesOf(ids)).filter((state) => state === 'suspended').length
  assert.equal(await run(changeState), 1, 'the plan')
  assert.equal(await run(changeState), 100)
  assert.equal(await suspended(), 100)
  assert.equal((await disputesOf(agent))[0].isDone, false)
  const broken = ids[120] ?? ''
  const refusesOne: DisputeDeps['changeCredentialState'] = (tx, change) =>
    change.credentialId === broken ? Promise.reject(new Error('of another cell')) : changeState(tx, change)
  assert.equal(await run(refusesOne), 100)
  assert.equal(await suspended(), 199)
  assert.equal(await run(changeState), 50)
  assert.equal(await run(changeState), 0)
  assert.equal(await suspended(), 249)
  assert.deepEqual(await statesOf([broken]), ['issued'])
  const { rows } = await harness.owner.query(
    'select is_done, skipped from dispute_passes where agent_id = $1',
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ is_done: true, skipped: 1 }])
  // The next pass finds it.
  await close(dispute, 'lost')
  await runPass()
  await allAre(ids, 'revoked')
})

test('a dispute that closes during a pass starts it again', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent, 'growth')
  const ids = await spendMany(agent, 149)
  const dispute = await open(pack)
  await job.run()
  assert.equal(await job.run(), 100)
  await close(dispute, 'won')
  await runPass()
  await allAre(ids, 'issued')
  assert.deepEqual(await eventsOf(ids[149] ?? ''), [], 'it was never suspended')
})

test('a pass whose ledger has a gap is loud and ends', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent, 'growth')
  const ids = await spendMany(agent, 9)
  await harness.owner.query('alter table ledger_lines disable trigger append_only')
  await harness.owner.query(
    "delete from ledger_lines where agent_id = $1 and account = 'consumed:credit' and line_number = 5",
    [agent.agentId],
  )
  await open(pack)
  await runPass()
  assert.deepEqual(
    (await statesOf(ids))
      .map((state, index) => (state === 'issued' ? index : -1))
      .filter((index) => index >= 0),
    [4],
  )
  const { rows } = await harness.owner.query(
    'select is_done, skipped from dispute_passes where agent_id = $1',
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ is_done: true, skipped: 1 }])
})

test('a pass that fails as a whole waits ten minutes, and the others go on', async () => {
  const [broken, other] = [await card.liveAgent(), await card.liveAgent()]
  const [first, second] = [await buyPack(broken), await buyPack(other)]
  await mint(broken, 1)
  const ids = await mint(other, 1)
  await open(first)
  await open(second)
  // A reversal of a pack that nobody bought.
  await harness.owner.query('alter table ledger_claims disable trigger append_only')
  await harness.owner.query(
    "update ledger_claims set reference = 'chk_unknown 1' where agent_id = $1 and kind = 'purchase_reversal'",
    [broken.agentId],
  )
  await assert.rejects(job.run(), /purchase chk_unknown was reversed and is not among 2 postings/)
  await runPass()
  await allAre(ids, 'suspended')
  const { rows } = await harness.owner.query<{ waits: boolean }>(
    "select due_at > pohf_now() + interval '9 minutes' as waits from dispute_passes where agent_id = $1 and not is_done",
    [broken.agentId],
  )
  assert.deepEqual(rows, [{ waits: true }])
})

test('a planted fault is found: a suspension that names no ground outlives the won dispute', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent)
  const ids = await mint(agent, 1)
  const dispute = await open(pack)
  await harness.owner.query(`
    create function planted() returns trigger language plpgsql as $$ begin
      new.grounds := '{}'; return new; end $$;
    create trigger planted before insert on credential_states for each row execute function planted()`)
  await runPass()
  await harness.owner.query('drop trigger planted on credential_states')
  await close(dispute, 'won')
  await runPass()
  await assert.rejects(allAre(ids, 'issued'), { code: 'ERR_ASSERTION' })
})
