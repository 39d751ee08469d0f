import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareEnvelope, type EnvelopeComparison } from '../../src/approvals.ts'
import { decodeUnverified, type Claims } from '../../src/index.ts'
import { makeIssuer } from '../issuer.ts'
import { definition, makeEnvelope, mintApproval } from './approval.ts'

const envelope = makeEnvelope()
const jwt = await mintApproval(makeIssuer(), { envelope, definition }, 'apv_anna')
const approval = (decodeUnverified(jwt) as unknown as Claims).approval
assert.ok(approval)
const resultOf = (result: EnvelopeComparison) =>
  result.ok ? (result.view?.title ?? 'no view') : result.reason

const cases: readonly (readonly [string, unknown, Partial<NonNullable<Claims['approval']>>, string])[] = [
  ['the answer of the service', { envelope, definition, status: 'approved' }, {}, 'Pay an invoice'],
  ['the envelope alone', envelope, {}, 'no view'],
  [
    'another amount',
    { envelope: { ...envelope, action: { amount: '1' } }, definition },
    {},
    'wrong_envelope',
  ],
  ['a member more', { ...envelope, more: 1 }, {}, 'envelope_malformed'],
  ['nothing', null, {}, 'envelope_malformed'],
  ['a text', 'envelope', {}, 'envelope_malformed'],
  ['other labels', { envelope, definition: { ...definition, labels: {} } }, {}, 'wrong_view'],
  ['another version', { envelope, definition: { ...definition, version: 9 } }, {}, 'wrong_definition'],
  [
    'a definition that is broken',
    { envelope, definition: { type: 'invoice.pay', version: 3 } },
    {},
    'wrong_definition',
  ],
  ['a view of other rules', { envelope, definition }, { view: 'approval-9' }, 'unknown_view'],
]
for (const [name, value, more, expected] of cases) {
  test(`an envelope is compared with its credential: ${name}`, async () => {
    assert.equal(resultOf(await compareEnvelope({ ...approval, ...more }, value)), expected)
  })
}
