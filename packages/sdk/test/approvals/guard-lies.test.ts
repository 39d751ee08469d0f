import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AttackId } from '../../../verify/test/approvals/attacks.ts'
import { attacksIn, type Refused } from '../../../verify/test/approvals/run-attack.ts'
import { makeIssuer } from '../../../verify/test/issuer.ts'
import {
  ApprovalDenied,
  ApprovalExpired,
  ApprovalNotVerified,
  ApprovalUnavailable,
} from '../../src/approvals.ts'
import type { Answer, Behaviour } from './approval-server.ts'
import { payment, pollute, start, type Options } from './guarded-payment.ts'

type ErrorClass = new (...args: never[]) => Error
type Lie = {
  readonly name: string
  readonly attack?: AttackId
  readonly behaviour?: Behaviour
  readonly options?: Options
  readonly error: ErrorClass
  readonly reason?: string
  /** Whether the approval may have been consumed, although the tool did not run. */
  readonly mayConsume?: true
}
const onRead =
  (change: (answer: Answer) => unknown): NonNullable<Behaviour['answer']> =>
  (answer, { name }) =>
    name === 'read' ? change(answer) : answer
const serverError = { status: 500, body: { error: 'internal', message: 'broken', retryable: true } }
const strangers = makeIssuer('http://127.0.0.1:9')

const lies: readonly Lie[] = [
  { name: 'create answers 500', behaviour: { reply: () => serverError }, error: ApprovalUnavailable },
  {
    name: 'create answers nothing',
    behaviour: { reply: () => 'hang' },
    options: { timeoutMs: 500 },
    error: ApprovalUnavailable,
  },
  { name: 'create closes the connection', behaviour: { reply: () => 'close' }, error: ApprovalUnavailable },
  {
    name: 'create refuses',
    behaviour: { reply: () => ({ status: 400, body: { error: 'approval_refused', message: 'No.' } }) },
    error: ApprovalUnavailable,
  },
  {
    name: 'create answers a text',
    behaviour: { reply: () => ({ status: 200, body: 'approved' }) },
    error: ApprovalUnavailable,
  },
  {
    name: 'create answers an empty object',
    behaviour: { reply: () => ({ status: 200, body: {} }) },
    error: ApprovalUnavailable,
  },
  {
    name: 'read answers 500 until the end',
    behaviour: { reply: ({ name }) => (name === 'read' ? serverError : undefined) },
    options: { timeoutMs: 900 },
    error: ApprovalUnavailable,
  },
  {
    name: 'read answers nothing',
    behaviour: { reply: ({ name }) => (name === 'read' ? 'hang' : undefined) },
    options: { timeoutMs: 900 },
    error: ApprovalUnavailable,
  },
  {
    name: 'nobody decides',
    behaviour: { pendingReads: 1_000 },
    options: { timeoutMs: 900 },
    error: ApprovalExpired,
  },
  {
    name: 'the service says expired',
    behaviour: { answer: onRead((answer) => ({ ...answer, status: 'expired', decisions: [] })) },
    error: ApprovalExpired,
  },
  {
    name: 'a person denies',
    behaviour: { minted: (ref) => (ref === 'apv_ben' ? { approval: { decision: 'deny' } } : {}) },
    error: ApprovalDenied,
  },
  {
    name: 'a denial is called approved',
    attack: 'guard-denial-called-approved',
    behaviour: {
      minted: (ref) => (ref === 'apv_ben' ? { approval: { decision: 'deny' } } : {}),
      answer: onRead((answer) => ({
        ...answer,
        status: 'approved',
        decisions: answer.decisions.map((each) => ({ ...each, decision: 'approve' })),
      })),
    },
    error: ApprovalNotVerified,
    reason: 'denied',
  },
  {
    name: 'approved by nobody',
    behaviour: { deciders: [] },
    error: ApprovalNotVerified,
    reason: 'quorum_not_reached',
  },
  {
    name: 'approved without credentials',
    behaviour: {
      answer: onRead((answer) => ({
        ...answer,
        decisions: answer.decisions.map((each) => ({ ...each, pohf_jwt: null })),
      })),
    },
    error: ApprovalNotVerified,
    reason: 'quorum_not_reached',
  },
  {
    name: 'approved by one of two',
    behaviour: { deciders: ['apv_anna'] },
    error: ApprovalNotVerified,
    reason: 'quorum_not_reached',
  },
  {
    name: 'approved by one of two, with an envelope that asks for one',
    behaviour: {
      envelope: (same) => ({ ...same, policy: { ...same.policy, quorum: 1 } }),
      deciders: ['apv_anna'],
    },
    error: ApprovalNotVerified,
    reason: 'quorum_not_reached',
  },
  {
    name: 'approved by a person who was not named, with an envelope that names them',
    behaviour: {
      envelope: (same) => ({ ...same, approvers: [...same.approvers, 'apv_mallory'] }),
      deciders: ['apv_anna', 'apv_mallory'],
    },
    error: ApprovalNotVerified,
    reason: 'not_an_approver',
  },
  {
    name: 'one person in two roles',
    behaviour: { minted: () => ({ more: { sub: 'psu_one' } }) },
    error: ApprovalNotVerified,
    reason: 'same_person',
  },
  {
    name: 'an envelope with another action, signed',
    behaviour: { envelope: (same) => ({ ...same, action: { ...same.action, amount: '1.00' } }) },
    error: ApprovalNotVerified,
    reason: 'wrong_action',
  },
  {
    name: 'an envelope of another type, signed',
    behaviour: { envelope: (same) => ({ ...same, type: 'note.read' }) },
    error: ApprovalNotVerified,
    reason: 'wrong_type',
  },
  {
    name: 'an envelope of another request, signed',
    attack: 'guard-other-request',
    behaviour: { envelope: (same) => ({ ...same, requestId: 'older' }) },
    error: ApprovalNotVerified,
    reason: 'wrong_answer',
  },
  {
    name: 'an envelope for another executor, signed',
    behaviour: { envelope: (same) => ({ ...same, audience: 'agt_other' }) },
    options: { audience: 'agt_pays' },
    error: ApprovalNotVerified,
    reason: 'wrong_audience',
  },
  {
    name: 'an envelope with another salt than the credentials',
    behaviour: {
      answer: onRead((answer) => ({ ...answer, envelope: { ...answer.envelope, salt: 'other' } })),
    },
    error: ApprovalNotVerified,
    reason: 'wrong_envelope',
  },
  {
    name: 'no envelope',
    behaviour: { answer: onRead((answer) => ({ ...answer, envelope: null })) },
    error: ApprovalNotVerified,
    reason: 'wrong_answer',
  },
  {
    name: 'credentials of another approval',
    behaviour: { minted: () => ({ approval: { id: 'apl_77' } }) },
    error: ApprovalNotVerified,
    reason: 'wrong_approval',
  },
  {
    name: 'the answer of another approval',
    behaviour: { answer: onRead((answer) => ({ ...answer, approvalId: 'apl_77' })) },
    error: ApprovalNotVerified,
    reason: 'wrong_answer',
  },
  {
    name: 'another view',
    behaviour: { minted: () => ({ approval: { view_hash: 'x'.repeat(43) } }) },
    error: ApprovalNotVerified,
    reason: 'wrong_view',
  },
  {
    name: 'test credentials for a live tool',
    behaviour: { minted: () => ({ mode: 'test' }) },
    error: ApprovalNotVerified,
    reason: 'test_credential',
  },
  {
    name: 'credentials of another issuer',
    behaviour: { signer: strangers },
    error: ApprovalNotVerified,
    reason: 'unknown_key',
  },
  {
    name: 'keys that the caller pinned and the service does not have',
    options: { jwks: strangers.jwks },
    error: ApprovalNotVerified,
    reason: 'unknown_key',
  },
  {
    name: 'a credential without a status',
    behaviour: { minted: () => ({ more: { status: undefined } }) },
    error: ApprovalNotVerified,
    reason: 'status_missing',
  },
  {
    name: 'a revoked credential',
    behaviour: { isRevoked: true },
    error: ApprovalNotVerified,
    reason: 'revoked',
  },
  {
    name: 'assurance below the caller’s',
    options: { minAssurance: 'high' },
    error: ApprovalNotVerified,
    reason: 'assurance_too_low',
  },
  {
    name: 'a state that is unknown',
    behaviour: { answer: onRead((answer) => ({ ...answer, status: 'waived' })) },
    error: ApprovalNotVerified,
    reason: 'not_consumed',
  },
  {
    name: 'consumed before',
    attack: 'guard-consumed-before',
    behaviour: { answer: onRead((answer) => ({ ...answer, status: 'consumed' })) },
    error: ApprovalNotVerified,
    reason: 'not_consumed',
  },
  {
    name: 'consume answers 409',
    behaviour: {
      reply: ({ name }) =>
        name === 'consume'
          ? { status: 409, body: { error: 'approval_conflict', message: 'Used.' } }
          : undefined,
    },
    error: ApprovalNotVerified,
    reason: 'not_consumed',
  },
  {
    name: 'consume answers 500',
    behaviour: { reply: ({ name }) => (name === 'consume' ? serverError : undefined) },
    error: ApprovalUnavailable,
  },
  {
    name: 'consume closes the connection',
    behaviour: { reply: ({ name }) => (name === 'consume' ? 'close' : undefined) },
    error: ApprovalUnavailable,
  },
  {
    name: 'consume answers an empty object',
    behaviour: { reply: ({ name }) => (name === 'consume' ? { status: 200, body: {} } : undefined) },
    error: ApprovalUnavailable,
  },
  {
    name: 'consume answers another approval',
    behaviour: {
      answer: (answer, { name }) => (name === 'consume' ? { ...answer, approvalId: 'apl_77' } : answer),
    },
    error: ApprovalNotVerified,
    reason: 'not_consumed',
    mayConsume: true,
  },
  {
    name: 'consume answers another hash',
    behaviour: {
      answer: (answer, { name }) => (name === 'consume' ? { ...answer, envelopeHash: 'x' } : answer),
    },
    error: ApprovalNotVerified,
    reason: 'not_consumed',
    mayConsume: true,
  },
  {
    name: 'consume answers approved',
    behaviour: {
      answer: (answer, { name }) => (name === 'consume' ? { ...answer, status: 'approved' } : answer),
    },
    error: ApprovalNotVerified,
    reason: 'not_consumed',
    mayConsume: true,
  },
]

const attack = attacksIn(import.meta.url)
for (const { name, attack: id, behaviour, options, error: expected, reason, mayConsume } of lies) {
  const run = async (refused: Refused, t: TestContext) => {
    const { pay, ran, server } = await start(t, behaviour, options)
    await assert.rejects(pay(payment()), (error) => {
      assert.ok(error instanceof expected, String(error))
      if (error instanceof ApprovalNotVerified) refused(error.reason)
      return true
    })
    assert.deepEqual(ran, [])
    const consumed = server.calls.some((call) => call.name === 'consume')
    if (!name.startsWith('consume') && !mayConsume) assert.ok(!consumed, 'a bad approval was consumed')
  }
  if (id) attack(id, run)
  else test(`the tool does not run: ${name}`, (t) => run((found) => assert.equal(found, reason), t))
}

attack('guard-refused-value', async (refused, t) => {
  const { pay, ran, server } = await start(t)
  for (const to of ['12\u05be5555', '9\u03369', '\u{1d40f}aypal', '\u2460', '\u2163'])
    await assert.rejects(pay({ ...payment(), to }), (error) => {
      assert.ok(error instanceof ApprovalUnavailable)
      assert.match(error.message, /^The argument \/to has U\+[0-9A-F]+, which /)
      refused(/\((\w+)\)\.$/.exec(error.message)?.[1])
      return true
    })
  assert.deepEqual([ran, server.calls], [[], []])
})

attack('guard-polluted-options', async (refused, t) => {
  const { pay, ran } = await start(t, { minted: () => ({ mode: 'test' }) })
  pollute(t, { allowTest: true })
  await assert.rejects(pay(payment()), (error) => {
    assert.ok(error instanceof ApprovalNotVerified, String(error))
    refused(error.reason)
    return true
  })
  assert.deepEqual(ran, [])
})
