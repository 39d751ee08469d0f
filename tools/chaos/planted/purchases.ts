import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOf, runPurchaseKills } from '../purchases.ts'

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
  assert.ok(findings.missingCredential > 0 && faultsOf(findings).length > 0, JSON.stringify(findings))
})

test('a server that forgets what contract wallets cost is found out: they cost more than the budget', async () => {
  const findings = await runPurchaseKills({
    purchases: 10,
    clients: 4,
    seed: 7,
    scenarios: ['contract wallet changes to burning gas'],
    plantedFaultSql: `
      create function planted() returns trigger language plpgsql as $$
      begin
        if new.gas_limit is not null then new.gas_limit := 1; end if;
        if new.gas_lost is not null then new.gas_lost := 0; end if;
        return new;
      end $$;
      create trigger a_planted before insert or update on x402_payments for each row execute function planted()`,
  })
  assert.ok(findings.gasLostToContractWallets > findings.gasBudget, JSON.stringify(findings))
  assert.ok(faultsOf(findings).length > 0)
})
