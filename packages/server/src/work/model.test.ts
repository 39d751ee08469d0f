import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledgerFaults } from '../../test/fixtures/payments/ledger.ts'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'
import {
  makeModelContext,
  moneyFaults,
  runOrderModel,
  modelSetupSql,
} from '../../test/fixtures/payments/order-model.ts'

/** `npm run battery -- orders` runs ten thousand. */
const sequences = 100
const stepsMax = 10
const makeRuns = (harness: Harness) =>
  Promise.all(['a', 'b', 'c', 'd'].map((name) => makeModelContext(harness, name)))

const harness = await startHarness()
await harness.owner.query(modelSetupSql)
const runs = await makeRuns(harness)
const runHistories = (count: number) =>
  Promise.all(runs.map((run) => runOrderModel(run, count / runs.length, stepsMax)))
const countOf = (step: string): number => runs.reduce((sum, run) => sum + (run.counts.get(step) ?? 0), 0)

const steps = [
  'claim',
  'deliver',
  'answer',
  'return',
  'accept',
  'reject',
  'appeal',
  'decide',
  'cancel',
  'dispute',
].flatMap((step) => [`${step} taken`, `${step} refused`])
const listMissing = () => steps.filter((step) => countOf(step) === 0)

test(`${sequences} random order histories: escrow equals open units, every state can end, no unit is paid twice`, async (t) => {
  await runHistories(sequences)
  t.diagnostic(steps.map((step) => `${step}: ${countOf(step)}`).join(', '))
  assert.deepEqual([...(await ledgerFaults(harness)), ...(await moneyFaults(harness))], [])
})

test('every step was tried where it is allowed and where it is refused', async () => {
  // Some come four times in a hundred histories: where one is missing, more histories are run.
  for (let more = 0; more < 10 && listMissing().length > 0; more++) await runHistories(20)
  assert.deepEqual(listMissing(), [])
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
  'a wrong known answer is accepted': `
    create function planted() returns trigger language plpgsql as $$ begin
      if old.status = 'delivered' and new.status = 'rejected' and exists (select from orders o
        where o.order_id = new.order_id and o.purpose = 'gold') then new.status := 'accepted'; new.ended_at := pohf_now(); end if;
      return new; end $$;
    create trigger planted before update on order_units for each row execute function planted()`,
  'a refused unit keeps its credential': `
    create function planted() returns trigger language plpgsql as $$ begin
      if new.state = 'revoked' and new.reason like '%refunded%' then return null; end if;
      return new; end $$;
    create trigger planted before insert on credential_states for each row execute function planted()`,
  'a chargeback leaves the credentials': `
    create function planted() returns trigger language plpgsql as $$ begin
      if new.reason like '%dispute%' then return null; end if;
      return new; end $$;
    create trigger planted before insert on credential_states for each row execute function planted()`,
  'a suspension is not on the status list': `
    create function planted() returns trigger language plpgsql as $$ begin
      if new.value = 2 then return null; end if;
      return new; end $$;
    create trigger planted before insert on status_entries for each row execute function planted()`,
  'a won appeal leaves the credential suspended': `
    create function planted() returns trigger language plpgsql as $$ begin
      if new.state = 'issued' and new.seq > 1 then return null; end if;
      return new; end $$;
    create trigger planted before insert on credential_states for each row execute function planted()`,
  'a person is paid more than the unit costs': `
    create function planted() returns trigger language plpgsql as $$ begin
      new.stars := new.stars + 1; return new; end $$;
    create trigger planted before insert on worker_earnings for each row execute function planted()`,
  'a rejected unit is accepted at once': `
    create function planted() returns trigger language plpgsql as $$ begin
      if new.status = 'rejected' then new.status := 'accepted'; new.ended_at := pohf_now(); end if;
      return new; end $$;
    create trigger planted before update on order_units for each row execute function planted()`,
}
for (const [name, sql] of Object.entries(planted))
  test(`a planted fault is found: ${name}`, async () => {
    const faulty = await startHarness()
    await faulty.owner.query(modelSetupSql)
    const run = await makeModelContext(faulty, 'a')
    await faulty.owner.query(sql)
    await assert.rejects(async () => {
      // It stops at the first fault.
      await runOrderModel(run, 1_000, stepsMax)
      assert.deepEqual(await moneyFaults(faulty), [])
    })
  })
