import assert from 'node:assert/strict'
import { post } from '../src/ledger/index.ts'
import { inTransaction } from '../src/platform/db.ts'
import type { Harness } from './harness.ts'

type Owner = { readonly agentId: `agt_${string}` }

/** Credits for a live agent, by the one way that there is. */
export const giveCredits = (harness: Harness, owner: Owner, amount: bigint, reference = 'gift') =>
  inTransaction(harness.ctx, owner.agentId, (tx) =>
    post(tx, {
      agentId: owner.agentId,
      mode: 'live',
      kind: 'test_gift',
      reference,
      lines: [
        { account: 'world:gift', unit: 'credit', amount: -amount },
        { account: 'credits', unit: 'credit', amount },
      ],
    }),
  )

const faultQueries = {
  'a balance is not the sum of its lines': `
    select from ledger_accounts a where a.balance <> (select coalesce(sum(l.amount), 0) from ledger_lines l
      where (l.agent_id, l.mode, l.account, l.unit) = (a.agent_id, a.mode, a.account, a.unit))`,
  'a line is missing or does not follow the one before it': `
    select from (select balance_after - amount - lag(balance_after, 1, 0::bigint) over w as gap,
      line_number - row_number() over w as skipped from ledger_lines
      window w as (partition by agent_id, mode, account, unit order by line_number)) chained
    where gap <> 0 or skipped <> 0`,
  'an entry does not sum to zero': `
    select from ledger_lines group by agent_id, entry_id, unit having sum(amount) <> 0`,
  'a book does not sum to zero': `
    select from ledger_accounts group by agent_id, mode, unit having sum(balance) <> 0`,
  'an entry has no claim': `
    select from ledger_entries e where not exists (select from ledger_claims c
      where (c.agent_id, c.mode, c.kind, c.reference, c.entry_id) = (e.agent_id, e.mode, e.kind, e.reference, e.entry_id))`,
  'an account is on the wrong side of zero': `
    select from ledger_accounts where not ledger_may_hold(account, balance)`,
  'a credential that costs something was not paid for': `
    select from credentials c where c.charged and not exists (select from ledger_claims l
      where (l.agent_id, l.mode, l.kind, l.reference) = (c.agent_id, c.mode, 'spend', c.credential_id))`,
  'something was paid for and is not there': `
    select from ledger_claims l where l.kind = 'spend' and not exists (select from credentials c
      where (c.agent_id, c.mode, c.credential_id) = (l.agent_id, l.mode, l.reference))`,
  'a credential has no state, or no event, or no claim': `
    select from credentials c where not exists (select from credential_states s
        where (s.agent_id, s.credential_id) = (c.agent_id, c.credential_id))
      or not exists (select from events e where e.agent_id = c.agent_id and e.subject = c.credential_id
        and e.type = 'credential.issued')`,
  'two credentials that hold were minted for one session': `
    select from credentials c join events e on e.agent_id = c.agent_id and e.subject = c.credential_id
      and e.type = 'credential.issued'
    where c.expires_at > pohf_now() and c.charged and e.data ->> 'sessionId' is not null
    group by c.agent_id, c.mode, e.data ->> 'sessionId' having count(*) > 1`,
  'a sealed session and its credential do not name each other': `
    select from sessions s where s.status = 'sealed' and not exists (select from credentials c
      where (c.agent_id, c.mode, c.credential_id) = (s.agent_id, s.mode, s.credential_id))`,
}

/** Everything in the books that does not add up, by queries of their own: the reconciler is not asked. */
export const faultsOfBooks = async (harness: Pick<Harness, 'owner'>): Promise<string[]> => {
  const faults: string[] = []
  for (const [fault, query] of Object.entries(faultQueries)) {
    const { rowCount } = await harness.owner.query(query)
    assert.notEqual(rowCount, null)
    if (rowCount !== 0) faults.push(fault)
  }
  return faults
}
