import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  approvalReasons,
  verifyApproval,
  type ApprovalOptions,
  type ApprovalReason,
  type Envelope,
  type Json,
} from '../../src/approvals.ts'
import { makeIssuer, origin } from '../issuer.ts'
import type { AttackId } from './attacks.ts'
import { attacksIn, type Refused } from './run-attack.ts'
import { approvers, definition, inHours, makeEnvelope, mintApproval, type MintedPart } from './approval.ts'

const issuer = makeIssuer()
const stranger = makeIssuer()
const envelope = makeEnvelope()

const optionsFor = (more: Partial<ApprovalOptions> = {}): ApprovalOptions => ({
  issuer: origin,
  jwks: issuer.jwks,
  fetch: async () => Promise.reject(new Error('no network in this test')),
  status: 'if-present',
  envelope,
  definition,
  audience: envelope.audience,
  type: envelope.type,
  action: envelope.action,
  approvers,
  quorum: 2,
  ...more,
})
const mint = (ref: string, part: MintedPart = {}, about: Envelope = envelope): Promise<string> =>
  mintApproval(
    issuer,
    { envelope: about, definition: about.typeVersion === 0 ? undefined : definition },
    ref,
    part,
  )
const both = async (part: MintedPart = {}, about: Envelope = envelope): Promise<string[]> => [
  await mint('apv_anna', {}, about),
  await mint('apv_ben', part, about),
]

test('two people whom the executor accepts approved exactly this action', async () => {
  const result = await verifyApproval(await both(), optionsFor())
  assert.ok(result.ok, JSON.stringify(result))
  assert.deepEqual(result.approvers, approvers)
  assert.equal(result.approvalId, 'apl_1')
  assert.match(result.envelopeHash, /^[\w-]{43}$/)
})

test('the order of keys in the action does not matter', async () => {
  const { note, ...rest } = envelope.action
  assert.ok((await verifyApproval(await both(), optionsFor({ action: { note: note as Json, ...rest } }))).ok)
})

test('without a definition the view is not computed, and an unregistered type needs none', async () => {
  assert.ok((await verifyApproval(await both(), optionsFor({ definition: undefined }))).ok)
  const unregistered = makeEnvelope({ typeVersion: 0 })
  for (const given of [undefined, null])
    assert.ok(
      (
        await verifyApproval(
          await both({}, unregistered),
          optionsFor({ envelope: unregistered, definition: given }),
        )
      ).ok,
    )
})

type Case = {
  readonly name: string
  readonly attack?: AttackId
  readonly reason: ApprovalReason
  readonly jwts?: () => Promise<readonly string[]>
  readonly options?: Partial<ApprovalOptions>
}
const changed = (more: Partial<Envelope>): Envelope => ({ ...envelope, ...more })
const withAction = (action: Envelope['action']): Partial<ApprovalOptions> => ({ action })
const late = changed({ consumeBy: inHours(-1), decideBy: inHours(-2) })
const alone = makeEnvelope({ policy: { ...envelope.policy, quorum: 1 } })
const threeAsked = makeEnvelope({ approvers: ['apv_anna', 'apv_ben', 'apv_carl'] })

const cases: readonly Case[] = [
  { name: 'no credential', reason: 'quorum_not_reached', jwts: async () => [] },
  {
    name: 'one credential where the executor wants two',
    attack: 'executor-quorum-of-envelope',
    reason: 'quorum_not_reached',
    jwts: async () => [await mint('apv_anna', {}, alone)],
    options: { envelope: alone },
  },
  {
    name: 'one credential where the envelope wants two and the executor one',
    reason: 'quorum_not_reached',
    jwts: async () => [await mint('apv_anna')],
    options: { quorum: 1 },
  },
  {
    name: 'eleven credentials',
    reason: 'too_many_credentials',
    jwts: async () => Array.from({ length: 11 }, () => ''),
  },
  {
    name: 'another audience',
    attack: 'executor-other-audience',
    reason: 'wrong_audience',
    options: { audience: 'agt_other' },
  },
  { name: 'another type', reason: 'wrong_type', options: { type: 'note.read' } },
  {
    name: 'a credential of another type',
    reason: 'wrong_type',
    jwts: () => both({ approval: { type: 'note.read' } }),
  },
  {
    name: 'another amount',
    attack: 'executor-other-amount',
    reason: 'wrong_action',
    options: withAction({ ...envelope.action, amount: '1200.00' }),
  },
  {
    name: 'a field more',
    reason: 'wrong_action',
    options: withAction({ ...envelope.action, urgent: true }),
  },
  {
    name: 'a number in place of a text',
    attack: 'executor-number-for-text',
    reason: 'wrong_action',
    options: withAction({ ...envelope.action, amount: 120 }),
  },
  {
    name: 'another request of the same action',
    attack: 'executor-other-request',
    reason: 'wrong_envelope',
    options: { envelope: changed({ requestId: 'inv-2026-119' }) },
  },
  { name: 'another salt', reason: 'wrong_envelope', options: { envelope: changed({ salt: 'b' }) } },
  {
    name: 'a lower quorum in the envelope',
    reason: 'wrong_envelope',
    options: { envelope: changed({ policy: { ...envelope.policy, quorum: 1 } }) },
  },
  {
    name: 'a later end in the envelope',
    reason: 'wrong_envelope',
    options: { envelope: changed({ consumeBy: inHours(9) }) },
  },
  {
    name: 'a member more in the envelope',
    reason: 'envelope_malformed',
    options: { envelope: { ...envelope, executed: true } },
  },
  {
    name: 'a member less in the envelope',
    reason: 'envelope_malformed',
    options: { envelope: { ...envelope, salt: undefined } },
  },
  { name: 'no envelope', reason: 'envelope_malformed', options: { envelope: null } },
  {
    name: 'a fraction in the action of the envelope',
    reason: 'envelope_malformed',
    options: { envelope: changed({ action: { amount: 1.5 } }) },
  },
  {
    name: 'a time that is none',
    reason: 'envelope_malformed',
    options: { envelope: changed({ consumeBy: 'soon' }) },
  },
  {
    name: 'the time to use it is over',
    attack: 'executor-stale',
    reason: 'consume_by_past',
    jwts: () => both({}, late),
    options: { envelope: late },
  },
  {
    name: 'the time in a credential is over before that of the envelope',
    reason: 'consume_by_past',
    jwts: () => both({ approval: { consume_by: 1_000_000_000 } }),
  },
  {
    name: 'decided after the time to decide',
    reason: 'decided_late',
    jwts: () => both({ approval: { decided_at: Math.floor(Date.now() / 1_000) + 7_000 } }),
  },
  { name: 'a denial', reason: 'denied', jwts: () => both({ approval: { decision: 'deny' } }) },
  {
    name: 'a decision that is neither',
    reason: 'denied',
    jwts: () => both({ approval: { decision: 'abstain' } }),
  },
  {
    name: 'a denial beside enough approvals',
    attack: 'executor-denial-hidden',
    reason: 'denied',
    jwts: async () => [
      ...(await both({}, threeAsked)),
      await mint('apv_carl', { approval: { decision: 'deny' } }, threeAsked),
    ],
    options: { envelope: threeAsked, approvers: threeAsked.approvers },
  },
  {
    name: 'a person whom the executor does not accept, although asked',
    attack: 'executor-approvers-of-credential',
    reason: 'not_an_approver',
    jwts: async () => [await mint('apv_anna', {}, threeAsked), await mint('apv_carl', {}, threeAsked)],
    options: { envelope: threeAsked },
  },
  {
    name: 'a person who was not asked, although accepted',
    reason: 'not_an_approver',
    jwts: async () => [await mint('apv_anna'), await mint('apv_carl')],
    options: { approvers: [...approvers, 'apv_carl'] },
  },
  {
    name: 'the same credential twice',
    attack: 'executor-credential-twice',
    reason: 'same_approver',
    jwts: async () => {
      const one = await mint('apv_anna')
      return [one, one]
    },
  },
  {
    name: 'one approver with two pseudonyms',
    reason: 'same_approver',
    jwts: async () => [await mint('apv_anna'), await mint('apv_anna', { more: { sub: 'psu_second' } })],
  },
  {
    name: 'one person enrolled as two approvers',
    attack: 'executor-person-twice',
    reason: 'same_person',
    jwts: () => both({ more: { sub: 'psu_of_apv_anna' } }),
  },
  {
    name: 'credentials of two approvals',
    reason: 'wrong_approval',
    jwts: () => both({ approval: { id: 'apl_2' } }),
  },
  {
    name: 'no user verification',
    reason: 'user_not_verified',
    jwts: () => both({ approver: { user_verification: false } }),
  },
  {
    name: 'a passkey of this minute',
    reason: 'key_too_new',
    jwts: () => both({ approver: { key_age: 59 } }),
    options: { minKeyAgeSeconds: 60 },
  },
  {
    name: 'an unknown view',
    attack: 'executor-unknown-view',
    reason: 'unknown_view',
    jwts: () => both({ approval: { view: 'approval-0' } }),
  },
  {
    name: 'another view than the definition gives',
    attack: 'executor-other-view',
    reason: 'wrong_view',
    jwts: () => both({ approval: { view_hash: 'x'.repeat(43) } }),
  },
  {
    name: 'two views, without a definition',
    reason: 'wrong_view',
    jwts: () => both({ approval: { view_hash: 'x'.repeat(43) } }),
    options: { definition: undefined },
  },
  {
    name: 'a definition with other labels',
    reason: 'wrong_view',
    options: { definition: { ...definition, labels: { '/amount': 'Discount' } } },
  },
  {
    name: 'a definition of another version',
    reason: 'wrong_definition',
    options: { definition: { ...definition, version: 2 } },
  },
  { name: 'no definition for a registered type', reason: 'wrong_definition', options: { definition: null } },
  {
    name: 'a credential of another kind',
    reason: 'wrong_kind',
    jwts: async () => [await mint('apv_anna'), issuer.mint('view')],
  },
  {
    name: 'no claim approver',
    reason: 'claims_malformed',
    jwts: () => both({ more: { approver: undefined } }),
  },
  {
    name: 'a user verification that is a text',
    reason: 'claims_malformed',
    jwts: () => both({ approver: { user_verification: 'false' } }),
  },
  {
    name: 'a key age that is no number',
    reason: 'claims_malformed',
    jwts: () => both({ approver: { key_age: null } }),
  },
  {
    name: 'a test credential for a live tool',
    attack: 'executor-test-credential',
    reason: 'test_credential',
    jwts: () => both({ mode: 'test' }),
  },
  {
    name: 'a credential of a stranger with our address',
    attack: 'executor-other-issuer',
    reason: 'unknown_key',
    jwts: async () => [
      await mint('apv_anna'),
      await mintApproval(stranger, { envelope, definition }, 'apv_ben'),
    ],
  },
  {
    name: 'assurance below what the executor wants',
    reason: 'assurance_too_low',
    options: { minAssurance: 'substantial' },
  },
  { name: 'too little attention', reason: 'quality_too_low', options: { minQuality: 0.9 } },
  { name: 'no status list where one is required', reason: 'status_missing', options: { status: 'require' } },
]

const attack = attacksIn(import.meta.url)
for (const { name, attack: id, reason, jwts, options } of cases) {
  const run = async (refused: Refused) => {
    const result = await verifyApproval(await (jwts ?? both)(), optionsFor(options))
    refused(result.ok ? 'accepted' : result.reason)
    assert.ok(!result.ok && result.message.length > 10)
  }
  if (id) attack(id, run)
  else test(`refused as ${reason}: ${name}`, () => run((found) => assert.equal(found, reason)))
}

test('every reason has a case', () => {
  const seen = new Set(cases.map(({ reason }) => reason))
  assert.deepEqual(
    approvalReasons.filter((reason) => !seen.has(reason)),
    [],
  )
})

test('a test credential passes where the caller allows it', async () => {
  const jwts = [await mint('apv_anna', { mode: 'test' }), await mint('apv_ben', { mode: 'test' })]
  assert.ok((await verifyApproval(jwts, optionsFor({ allowTest: true }))).ok)
})

const misuses: readonly (readonly [string, Record<string, unknown>])[] = [
  ['no approvers', { approvers: [] }],
  ['approvers of the envelope forgotten', { approvers: undefined }],
  ['a quorum of none', { quorum: 0 }],
  ['a quorum above the approvers', { quorum: 3 }],
  ['a quorum above the different approvers', { approvers: ['apv_anna', 'apv_anna'], quorum: 2 }],
  ['no audience', { audience: '' }],
  ['no type', { type: undefined }],
  ['an action that is a list', { action: [] }],
  ['an action with a fraction', { action: { amount: 0.1 } }],
  ['a key age that is no number', { minKeyAgeSeconds: Number.NaN }],
  ['no rule for the status', { status: undefined }],
]
for (const [name, more] of misuses) {
  test(`a bad call throws: ${name}`, async () => {
    const jwts = await both()
    await assert.rejects(verifyApproval(jwts, optionsFor(more)), TypeError)
  })
}
