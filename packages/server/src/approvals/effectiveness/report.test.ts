import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportDaysMax, type ApprovalReport } from '@pohf/protocol'
import { verifyReport } from '@pohf/verify/approvals'
import { mixedTeam, seedTeam } from '../../../test/fixtures/approvals/team.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeAccount } from '../../../test/fixtures/people/console.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'

const harness = await startHarness()

const openAccount = async () => {
  const { owner, agents } = await makeAccount(harness)
  const key = await owner.bearer('test')
  const agent = { agentId: agents.test, mode: 'test' as const }
  const read = async (query = ''): Promise<ApprovalReport> => {
    const answer = await harness.call('GET', `/api/agents/approval-report${query}`, { key })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const change = (body: object) => harness.call('POST', '/api/agents/approval-settings', { key, body })
  return { key, agent, read, change }
}
const namesBelow = (report: ApprovalReport) =>
  report.perPerson?.people
    .filter(({ belowTeam }) => belowTeam)
    .map(({ name }) => name)
    .toSorted()

test('once an owner shows people, the report marks the 3 of 8 who approve everything as below the team', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { agent, read, change } = await openAccount()
    await seedTeam(harness, { ...agent, people: mixedTeam, knownBadEach: 12, realEach: 20, seed })
    const { team, perPerson, requests } = await read()
    assert.equal(perPerson, null, 'people are not named unless an owner asks')
    assert.deepEqual([requests, team.decisions, team.caught.of], [160, 256, 96])
    assert.equal(team.approved + team.denied, 256)
    const { share, low, high } = team.caught
    assert.ok(share !== null && low !== null && high !== null && low < share && share < high)
    assert.ok(share > 0.45 && share < 0.72, `the team caught ${share}: 5 of 8 read`)
    assert.ok((team.fast.share ?? 0) > 0.4, 'those who read nothing approve faster than reading')
    assert.equal((await change({ perPerson: true })).status, 200)
    const named = await read()
    assert.deepEqual(namesBelow(named), ['Ben', 'Eve', 'Hal'], `seed ${seed}`)
    assert.equal(named.perPerson?.people.length, 8)
    assert.equal(named.perPerson?.tooFew, 0)
    for (const { caught } of named.perPerson?.people ?? [])
      assert.ok(
        caught.of === 12 && (caught.high ?? 0) - (caught.low ?? 0) > 0.2,
        'every share has its interval',
      )
  }
})

test('people with fewer than 10 known-bad requests are counted and not shown', async () => {
  const { agent, read, change } = await openAccount()
  await change({ perPerson: true })
  await seedTeam(harness, { ...agent, people: mixedTeam.slice(0, 4), knownBadEach: 9, realEach: 1, seed: 1 })
  await seedTeam(harness, { ...agent, people: mixedTeam.slice(4, 6), knownBadEach: 10, realEach: 0, seed: 1 })
  const { perPerson, team } = await read()
  assert.deepEqual([perPerson?.people.length, perPerson?.tooFew, team.caught.of], [2, 4, 56])
})

test('settings start with people hidden, and a change keeps the fields that it leaves out', async () => {
  const { key, change } = await openAccount()
  const read = async () => (await harness.call('GET', '/api/agents/approval-settings', { key })).json
  assert.deepEqual(await read(), { perPerson: false, decisionsPerHour: 60, changedAt: null })
  await change({ perPerson: true })
  const { json } = await change({ decisionsPerHour: 12 })
  assert.deepEqual([json.perPerson, json.decisionsPerHour], [true, 12])
  assert.deepEqual(await read(), json)
  assertRefusal(await change({ decisionsPerHour: 0 }), 400, 'validation_failed')
})

test('a report has the decisions of its period and of its agent, and at most 366 days', async () => {
  const { key, agent, read } = await openAccount()
  const other = await openAccount()
  for (const { agentId, mode } of [agent, other.agent])
    await seedTeam(harness, { agentId, mode, people: mixedTeam, knownBadEach: 10, realEach: 10, seed: 9 })
  const all = await read()
  assert.equal(all.team.decisions, 160)
  const day = 86_400_000
  const middle = new Date(Date.parse(all.to) - 10 * day).toISOString()
  const [older, newer] = [await read(`?to=${middle}`), await read(`?from=${middle}`)]
  assert.equal(older.team.decisions + newer.team.decisions, 160)
  assert.ok(older.team.decisions > 40 && newer.team.decisions > 40)
  assert.equal(older.team.caught.of + newer.team.caught.of, 80)
  const address = (from: number) =>
    `/api/agents/approval-report?from=${new Date(Date.parse(all.to) - from * day).toISOString()}`
  assertRefusal(await harness.call('GET', address(reportDaysMax + 1), { key }), 400, 'validation_failed')
  assertRefusal(await harness.call('GET', address(-1), { key }), 400, 'validation_failed')
  assert.equal((await harness.call('GET', address(reportDaysMax - 1), { key })).status, 200)
})

test('an evidence pack verifies offline with the published keys, and is signed by no key of credentials', async () => {
  const { key, agent, change } = await openAccount()
  await change({ perPerson: true })
  const [tricky, ...others] = mixedTeam
  const people = [{ name: '<img src=x onerror=alert(1)>', habit: tricky?.habit ?? 'reads' }, ...others]
  await seedTeam(harness, { ...agent, people, knownBadEach: 12, realEach: 3, seed: 4 })
  const address = '/api/agents/approval-report/pack'
  const answer = await harness.call('GET', address, { key })
  assert.equal(answer.status, 200, answer.text)
  const jwks = (await harness.call('GET', '/.well-known/jwks.json')).json
  const issuer = harness.ctx.config.BASE_URL
  const verified = await verifyReport({ pack: answer.json, issuer, jwks })
  assert.equal(verified.ok, true, JSON.stringify(verified.checks))
  assert.deepEqual([verified.claims?.['sub'], verified.claims?.['mode']], [agent.agentId, 'test'])
  const withoutPurpose = {
    keys: jwks.keys.map((one: { pohf_purpose: string }) =>
      one.pohf_purpose === 'report' ? { ...one, pohf_purpose: 'test' } : one,
    ),
  }
  assert.equal((await verifyReport({ pack: answer.json, issuer, jwks: withoutPurpose })).ok, false)

  const page = await harness.call('GET', `${address}?format=html`, { key })
  assert.match(page.headers['content-type'] ?? '', /^text\/html/)
  assert.ok(page.text.includes('&lt;img src=x onerror=alert(1)&gt;') && !page.text.includes('<img'))
  const jws = /<p class="jws">([^<]+)</.exec(page.text)?.[1]
  const claims = JSON.parse(Buffer.from(jws?.split('.')[1] ?? '', 'base64url').toString())
  const signed = await verifyReport({
    pack: { report: claims.report, method: claims.method, jws },
    issuer,
    jwks,
  })
  assert.equal(signed.ok, true, 'the page carries the signed form')
})
