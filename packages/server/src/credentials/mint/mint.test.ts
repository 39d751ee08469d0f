import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ledgerFaults, grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { startHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { makeScoredSession } from '../../../test/fixtures/scored-session.ts'
import { readJournal } from '../../signing/index.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<Harness['register']>>

const verify = (agent: Agent, sessionId: string, on = harness) =>
  on.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
const makeSessions = async (agent: Agent, count: number, on = harness): Promise<string[]> => {
  const made: string[] = []
  for (let n = 0; n < count; n++) made.push((await makeScoredSession(on, agent)).sessionId)
  return made
}
const balanceOf = async (agent: Agent, on = harness): Promise<number> =>
  (await on.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })).json.balance
const countOf = async (text: string, parameters: unknown[], on = harness): Promise<number> =>
  Number((await on.owner.query<{ n: string }>(text, parameters)).rows[0]?.n)
const credentialsOf = (agent: Agent, on = harness) =>
  countOf('select count(*) as n from credentials where agent_id = $1', [agent.agentId], on)
const signed = () => readJournal(join(harness.ctx.config.KEYS_DIR, 'journal')).length

/** Concurrent clients, each verifying the next session as soon as it has its response. */
const verifyConcurrently = async (
  agent: Agent,
  sessions: readonly string[],
  clients: number,
  on = harness,
) => {
  const answers: Awaited<ReturnType<typeof verify>>[] = []
  let next = 0
  const client = async () => {
    for (let n = next++; n < sessions.length; n = next++)
      answers.push(await verify(agent, sessions[n] ?? '', on))
  }
  await Promise.all(Array.from({ length: clients }, client))
  return answers
}

test('64 clients, 50 credits, 500 live sessions: 50 are minted, 450 get the purchase link, the ledger balances', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 50n)
  const sessions = await makeSessions(agent, 500)
  const answers = await verifyConcurrently(agent, sessions, 64)
  const minted = answers.filter((answer) => answer.status === 200)
  const refused = answers.filter((answer) => answer.status === 402)
  assert.equal(minted.length, 50)
  assert.equal(refused.length, 450)
  for (const { json } of refused) {
    assert.equal(json.error, 'insufficient_credits')
    assert.equal(json.buy, `${harness.ctx.config.BASE_URL}/buy`)
  }
  assert.equal(new Set(minted.map((answer) => answer.json.credentialId)).size, 50)
  assert.equal(await credentialsOf(agent), 50)
  assert.equal(await balanceOf(agent), 0)
  assert.equal(
    await countOf("select count(*) as n from sessions where agent_id = $1 and status = 'sealed'", [
      agent.agentId,
    ]),
    50,
  )
  assert.deepEqual(await ledgerFaults(harness), [])
  const { rows } = await harness.owner.query<{ type: string }>(
    "select type from events where agent_id = $1 and type like 'credits.%' order by type",
    [agent.agentId],
  )
  assert.deepEqual(
    rows.map((row) => row.type),
    ['credits.exhausted', 'credits.low'],
  )
})

test('one session verified 100 times at once gives one credential and one debit, also in the next month', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 5n)
  const [sessionId = ''] = await makeSessions(agent, 1)
  const hundred = () => Promise.all(Array.from({ length: 100 }, () => verify(agent, sessionId)))
  const answers = await hundred()
  const jwt = answers[0]?.json.pohf_jwt
  assert.ok(answers.every((answer) => answer.status === 200 && answer.json.pohf_jwt === jwt))
  assert.equal(answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined).length, 1)
  assert.equal(await balanceOf(agent), 4)
  // To the last moments of the credential's 30 days: always another month, and its partition.
  await harness.advance(29 * 86_400_000)
  const later = await hundred()
  assert.ok(later.every((answer) => answer.status === 200 && answer.json.pohf_jwt === jwt))
  assert.ok(later.every((answer) => answer.headers['idempotent-replayed'] === 'true'))
  assert.equal(await credentialsOf(agent), 1)
  assert.equal(await balanceOf(agent), 4)
})

test('a session scored in one month is minted once in the next, however often it is verified', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 5n)
  const now = harness.ctx.clock.now()
  const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
  await harness.advance(nextMonth - 1_800_000 - now.getTime())
  const [sessionId = ''] = await makeSessions(agent, 1)
  await harness.advance(3_600_000)
  const answers = await Promise.all(Array.from({ length: 100 }, () => verify(agent, sessionId)))
  assert.equal(new Set(answers.map((answer) => answer.json.pohf_jwt)).size, 1)
  assert.equal(await balanceOf(agent), 4)
  const { rows } = await harness.owner.query('select status from sessions where session_id = $1', [sessionId])
  assert.deepEqual(rows, [{ status: 'sealed' }])
})

test('a retry finds the credential of a session that is not marked as sealed: the same bytes, nothing spent', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 5n)
  const [sessionId = ''] = await makeSessions(agent, 1)
  const first = await verify(agent, sessionId)
  assert.equal(first.status, 200)
  // As a call that loads just before another one mints sees it.
  const client = await harness.owner.connect()
  await client.query("begin; set local session_replication_role = 'replica'")
  await client.query("update sessions set status = 'scored', credential_id = null where session_id = $1", [
    sessionId,
  ])
  await client.query('commit')
  client.release()
  const again = await verify(agent, sessionId)
  assert.deepEqual([again.status, again.json.pohf_jwt], [200, first.json.pohf_jwt])
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(await balanceOf(agent), 4)
  assert.equal(await credentialsOf(agent), 1)
})

test('a stored credential is returned at balance 0; without credits nothing is revealed about a session', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 1n)
  const [sessionId = '', other = ''] = await makeSessions(agent, 2)
  const first = await verify(agent, sessionId)
  assert.equal(first.status, 200)
  for (const unknown of [other, 'nothing', 'ses_test_pass']) {
    const refused = await verify(agent, unknown)
    assert.deepEqual([refused.status, refused.json.error], [402, 'insufficient_credits'])
  }
  const again = await verify(agent, sessionId)
  assert.equal(again.json.pohf_jwt, first.json.pohf_jwt)
  assert.equal(again.headers['idempotent-replayed'], 'true')
})

test('credentials that an agent cannot pay for are not signed', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 2n)
  const sessions = await makeSessions(agent, 60)
  const before = signed()
  await Promise.all(sessions.map((sessionId) => verify(agent, sessionId)))
  // Two batches may be under way, and each may sign for the same two credits.
  assert.ok(signed() - before <= 4, `${signed() - before} were signed for 2 credits`)
  const empty = signed()
  await Promise.all(sessions.map((sessionId) => verify(agent, sessionId)))
  assert.equal(signed(), empty)
})

test('of two agents in one batch, each sees its own sessions alone and pays alone', async () => {
  const [one, other] = [await harness.register('live'), await harness.register('live')]
  await grantCredits(harness, one, 20n)
  await grantCredits(harness, other, 20n)
  const sessions = await makeSessions(one, 10)
  const answers = await Promise.all(sessions.flatMap((id) => [verify(one, id), verify(other, id)]))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    sessions.flatMap(() => [200, 404]),
  )
  assert.deepEqual([await balanceOf(one), await balanceOf(other)], [10, 20])
})

test('64 concurrent calls cost a few statements, and a single call waits for no batch', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 100n)
  const sessions = await makeSessions(agent, 65)
  assert.equal((await verify(agent, sessions.pop() ?? '')).status, 200)
  const before = harness.ctx.db.statements()
  const answers = await Promise.all(sessions.map((sessionId) => verify(agent, sessionId)))
  assert.ok(answers.every((answer) => answer.status === 200))
  const used = harness.ctx.db.statements() - before
  assert.ok(used <= 40, `${used} statements for 64 calls`)
})

test('a poison row fails alone: all others in its batch get a credential', async () => {
  const [victim, culprit] = [await harness.register('live'), await harness.register('live')]
  await grantCredits(harness, victim, 100n)
  await grantCredits(harness, culprit, 100n)
  const good = await makeSessions(victim, 30)
  const { sessionId: poison } = await makeScoredSession(harness, culprit, { sessionId: 'poison' })
  await harness.owner.query(`
    create function poisoned() returns trigger language plpgsql as $$
    begin
      if new.session_id = 'poison' then raise exception 'poison'; end if;
      return new;
    end $$;
    create trigger poisoned before update on sessions for each row execute function poisoned()`)
  try {
    const answers = await Promise.all(
      [...good.slice(0, 15), poison, ...good.slice(15)].map((sessionId) =>
        verify(sessionId === poison ? culprit : victim, sessionId),
      ),
    )
    assert.equal(answers[15]?.status, 500)
    assert.deepEqual(
      [...answers.slice(0, 15), ...answers.slice(16)].map((answer) => answer.status),
      good.map(() => 200),
    )
    assert.deepEqual([await balanceOf(victim), await balanceOf(culprit)], [70, 100])
  } finally {
    await harness.owner.query('drop function poisoned cascade')
  }
  assert.equal((await verify(culprit, poison)).status, 200)
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('an unavailable signer fails the calls with 503 and spends nothing; then they succeed', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 10n)
  const sessions = await makeSessions(agent, 10)
  await harness.stopSigner()
  const answers = await Promise.all(sessions.map((sessionId) => verify(agent, sessionId)))
  assert.deepEqual([...new Set(answers.map((answer) => answer.json.error))], ['overloaded'])
  await harness.startSigner()
  assert.equal(await balanceOf(agent), 10)
  assert.equal((await verify(agent, sessions[0] ?? '')).status, 200)
})

test('the service role cannot call the inner functions of the mint', async () => {
  const client = await harness.ctx.db.pool.connect()
  try {
    for (const statement of [
      "select ledger_post_moves('spend', 'credit', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
      "select ledger_hold('{}', '{}', '{}', 'credit')",
      "select credits_spend('{}', '{}', '{}', '{}', '{}', '{}', '{}', '')",
      "select credits_hold('{}', '{}')",
    ])
      await assert.rejects(client.query(statement), /permission denied/, statement)
    const agent = await harness.register('live')
    await client.query(`begin; set local "pohf.tenant" = '${agent.agentId}'`)
    const row = `array['agt_foreign'], '{live}', '{binding}', '{x}', '{null}', '{false}', '{c}', '{binding}', array[now()],
      array[now()], '{j}', '{"{}"}', '{null}', '{l}', '{1}', '{null}', '{e}', '{v}', '{"{}"}', '{n}', '{null}', '1',
      '{null}', 'sgn_x', 1, null`
    await assert.rejects(client.query(`select credentials_mint(${row})`), /another tenant/)
    await client.query('rollback')
  } finally {
    client.release()
  }
  const { rows } = await harness.owner.query(
    "select rolcanlogin, rolbypassrls, rolsuper, pg_has_role('pohf_app', oid, 'member') as lent from pg_roles where rolname = 'pohf_mint'",
  )
  assert.deepEqual(rows, [{ rolcanlogin: false, rolbypassrls: false, rolsuper: false, lent: false }])
})

test('a planted fault is found: a mint that reads and writes the balance without a lock', async () => {
  const broken = await startHarness()
  const { rows } = await broken.owner.query<{ text: string }>(
    "select pg_get_functiondef('ledger_hold'::regproc) as text",
  )
  const definition = rows[0]?.text ?? ''
  assert.match(definition, /limit 50 for update\n/)
  // The planted fault: no lock, a wait between reading and writing, and no constraint to catch what follows.
  await broken.owner.query(
    definition
      .replace('limit 50 for update', 'limit 50')
      .replace(') present;', ') present; perform pg_advisory_xact_lock_shared(1);'),
  )
  await broken.owner.query('alter table ledger_accounts drop constraint ledger_balance_side')
  const agent = await broken.register('live')
  await grantCredits(broken, agent, 1n)
  const [first = '', second = ''] = await makeSessions(agent, 2, broken)
  const waiting = (count: number) =>
    pollUntil(`${count} mints have read the balance`, async () => {
      const { rowCount } = await broken.owner.query(
        `select from pg_locks where locktype = 'advisory' and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      )
      return rowCount === count
    })
  const holder = await broken.owner.connect()
  await holder.query('select pg_advisory_lock(1)')
  const calls = [verify(agent, first, broken)]
  try {
    // The second gets a batch of its own: that of the first is under way.
    await waiting(1)
    calls.push(verify(agent, second, broken))
    await waiting(2)
  } finally {
    // The lock ends with the connection.
    holder.release(true)
  }
  const answers = await Promise.all(calls)
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200],
    'one credit pays for two',
  )
  assert.ok((await ledgerFaults(broken)).includes('an account is on the wrong side of zero'))
})
