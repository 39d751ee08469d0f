import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasNoFaults, runPurchaseKills } from './purchases.ts'

test('a server that calls doubt a failure is found out: payers are charged and told no', async () => {
  const findings = await runPurchaseKills({
    purchases: 3,
    clients: 3,
    seed: 7,
    scenarios: ['receipt lost'],
    // The planted fault: what every kit does that answers a timeout with 402.
    plantedFaultSql: `
      create function planted() returns trigger language plpgsql as $$
      begin
        if new.state in ('broadcast', 'uncertain') then
          new.state := 'void'; new.reason := 'timeout'; new.due_at := null;
        end if;
        return new;
      end $$;
      create trigger a_planted before update on purchases for each row execute function planted()`,
  })
  assert.ok(findings.missingCredential > 0 && !hasNoFaults(findings), JSON.stringify(findings))
})
