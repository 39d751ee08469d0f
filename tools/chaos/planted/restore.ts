import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from 'pg'
import { runRestore } from '../restore/battery.ts'
import type { RestorePhase } from '../restore/deployment.ts'

type Plant = (phase: RestorePhase, client: Client) => Promise<unknown>

/** The faults that the battery finds with this change of the database behind the service's back. */
const faultsWith = async (plant: Plant): Promise<readonly string[]> => {
  const options = { seed: 7, before: 30, lost: 30, after: 30, purchases: 2, clients: 4 } as const
  return (await runRestore({ ...options, journal: 'kept', plant })).faults
}
const at =
  (phase: RestorePhase, statement: string): Plant =>
  async (now, client) => {
    if (now === phase) await client.query(statement)
  }
const assertFound = (faults: readonly string[], expected: RegExp) =>
  assert.ok(
    faults.some((fault) => expected.test(fault)),
    JSON.stringify(faults),
  )

test('lists that a restore does not close are found: their indexes are given out again', async () => {
  // Without its triggers: a block is taken once.
  const reopen = `set session_replication_role = replica; update status_blocks set taken_at = null;
    set session_replication_role = origin`
  const faults = await faultsWith(at('applied', reopen))
  assertFound(faults, /indexes are in lists of before the restore/)
})

test('published states that a restore does not apply are found: revocations are taken back', async () => {
  const faults = await faultsWith(
    at(
      'restored',
      `create function planted() returns trigger language plpgsql as $$ begin return null; end $$;
       create trigger a_planted before insert on status_entries for each row execute function planted()`,
    ),
  )
  assertFound(faults, /revoked credentials are valid in the published lists/)
})

test('a list of the past that is served after a restore is found: it goes back', async () => {
  const faults = await faultsWith(
    at(
      'restored',
      `create function planted() returns trigger language plpgsql as $$
       begin
         if old.jwt is not null then
           new.built_version := old.built_version; new.jwt := old.jwt; new.etag := old.etag;
         end if;
         return new;
       end $$;
       create trigger a_planted before update on status_lists for each row execute function planted()`,
    ),
  )
  assertFound(faults, /published lists went back to an older version/)
})

test('acts that a restore forgets are found: they are minted twice', async () => {
  const faults = await faultsWith(
    at(
      'restored',
      `create function planted() returns trigger language plpgsql as $$ begin new.act_key := null; return new; end $$;
       create trigger a_planted before insert on forgotten_credentials for each row execute function planted()`,
    ),
  )
  assertFound(faults, /lost acts were minted twice/)
  assertFound(faults, /payments that had delivered were answered/)
})

test('a service that does not see that its database is from the past is found: it mints', async () => {
  let batches: unknown[] = []
  // The numbers of the lost batches, as if the service had compared nothing.
  const faults = await faultsWith(async (phase, client) => {
    if (phase === 'lost') batches = (await client.query('select signer, batch from mint_batches')).rows
    if (phase === 'restored')
      await client.query(
        'insert into mint_batches select * from json_to_recordset($1) row (signer text, batch bigint) on conflict do nothing',
        [JSON.stringify(batches)],
      )
  })
  assertFound(faults, /a mint before the restore was completed was answered/)
  assertFound(faults, /the plan does not say that a restore is pending/)
})
