import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalView, type Envelope } from '@pohf/verify/approvals'
import { readingSeconds } from './rules.ts'

const envelopeOf = (action: Envelope['action'], summary: string): Envelope => ({
  audience: 'agt_1',
  requestId: 'r1',
  salt: 's',
  type: 'invoice.pay',
  typeVersion: 0,
  action,
  approvers: ['apv_1'],
  policy: { quorum: 1, minSeconds: 0, passkey: 'any', delaySeconds: 0 },
  decideBy: '2026-11-17T12:00:00.000Z',
  consumeBy: '2026-11-17T13:00:00.000Z',
  words: { title: '', summary },
})

const seconds = (action: Envelope['action'], summary = '') =>
  readingSeconds(approvalView(envelopeOf(action, summary), undefined))

test('the reading time grows with every field and with the words of the agent, up to 10 minutes', () => {
  const short = seconds({ amount: '12.00' })
  assert.ok(short >= 2 && short <= 4, String(short))
  assert.ok(seconds({ amount: '12.00', memo: 'word '.repeat(60).trim() }) >= short + 9)
  assert.ok(seconds({ amount: '12.00' }, 'word '.repeat(60).trim()) >= short + 9)
  assert.equal(seconds({ memo: 'x'.repeat(30_000) }), 600)
})
