import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { reservedSessions } from '../../src/evidence/scoring/sandbox.ts'
import { reservedMembers } from '../../src/members/rules.ts'
import { startHarness } from '../fixtures/harness.ts'

const page = new URL('../../../../docs/guides/sandbox.md', import.meta.url)
const row =
  /^\| `(?<id>(?:ses|mem)_test_[a-z_…]+)` +\| `(?<call>[a-z-]+)` +\| (?<status>\d{3}) +\| (?:`(?<code>[a-z_]+)`)? *\|/gmu
const rows = [...readFileSync(page, 'utf8').matchAll(row)].map(({ groups }) => ({
  id: groups?.['id'] ?? '',
  call: groups?.['call'] ?? '',
  status: Number(groups?.['status']),
  code: groups?.['code'],
}))

test('the table of reserved ids names each id that the sandbox knows, and no other', () => {
  const named = rows.map(({ id }) => id).filter((id) => !id.endsWith('…'))
  assert.deepEqual(named.toSorted(), [...reservedSessions.keys(), ...reservedMembers.keys()].toSorted())
  assert.equal(rows.length - named.length, 2)
})

test('every reserved id answers as the table says', async () => {
  const harness = await startHarness()
  const { apiKey: key } = await harness.register('test')
  for (const { id, call, status, code } of rows) {
    const field = id.startsWith('ses_') ? 'sessionId' : 'memberId'
    const body = { [field]: id.replace('…', 'some_other') }
    const answer = await harness.call('POST', `/api/agents/${call}`, { key, body })
    assert.deepEqual([answer.status, answer.json.error], [status, code], `${id}: ${answer.text}`)
  }
})
