import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledgerFaults } from '../../test/fixtures/payments/ledger.ts'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'
import { makeModelContext, runOrderModel, skewableNowSql } from '../../test/fixtures/payments/order-model.ts'

/** `npm run battery:orders` asks for more. */
const sequences = Number(process.env['POHF_ORDER_SEQUENCES'] ?? 2_000)
const parts = 20
const stepsMax = 6
const makeRuns = (harness: Harness) =>
  Promise.all(['a', 'b', 'c', 'd'].map((name) => makeModelContext(harness, name)))

const harness = await startHarness()
await harness.owner.query(skewableNowSql)
const runs = await makeRuns(harness)
const totals = new Map<string, number>()

for (let part = 1; part <= parts; part++)
  test(`${sequences / parts} random order histories, part ${part}: escrow equals open units, every state can end, no unit is paid twice`, async (t) => {
    for (const run of runs) run.counts.clear()
    await Promise.all(runs.map((run) => runOrderModel(run, sequences / parts / runs.length, stepsMax)))
    const counts = new Map<string, number>()
    for (const run of runs)
      for (const [step, count] of run.counts) counts.set(step, (counts.get(step) ?? 0) + count)
    t.diagnostic([...counts].map(([step, count]) => `${step}: ${count}`).join(', '))
    for (const [step, count] of counts) totals.set(step, (totals.get(step) ?? 0) + count)
    assert.deepEqual(await ledgerFaults(harness), [])
  })

test('every step was tried where it is allowed and where it is refused', () => {
  for (const step of [
    'claim',
    'deliver',
    'return',
    'accept',
    'reject',
    'appeal',
    'decide',
    'cancel',
    'dispute',
  ])
    for (const how of ['taken', 'refused'])
      assert.ok((totals.get(`${step} ${how}`) ?? 0) > 0, `${step} ${how}`)
})

/** Faults that the model must find: each is planted by a trigger in the database. */
const planted: Readonly<Record<string, string>> = {
  'a returned unit is cancelled, and its price stays in escrow': `
    create function planted() returns trigger language plpgsql as $$ begin
      if old.status = 'claimed' and new.status = 'open' then new.status := 'cancelled'; new.ended_at := pohf_now(); end if;
      return new; end $$;
    create trigger planted before update on order_units for each row execute function planted()`,
  'a cancelled order leaves a unit open': `
    create function planted() returns trigger language plpgsql as $$ begin
      if old.status = 'open' and new.status = 'cancelled' and new.n = 1 then return null; end if;
      return new; end $$;
    create trigger planted before update on order_units for each row execute function planted()`,
  'a rejected unit is accepted at once': `
    create function planted() returns trigger language plpgsql as $$ begin
      if new.status = 'rejected' then new.status := 'accepted'; new.ended_at := pohf_now(); end if;
      return new; end $$;
    create trigger planted before update on order_units for each row execute function planted()`,
}
for (const [name, sql] of Object.entries(planted))
  test(`a planted fault is found: ${name}`, async () => {
    const faulty = await startHarness()
    await faulty.owner.query(skewableNowSql)
    const run = await makeModelContext(faulty, 'a')
    await faulty.owner.query(sql)
    await assert.rejects(runOrderModel(run, 100, stepsMax))
  })
