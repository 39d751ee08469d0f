import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { grantCredits } from '../../test/fixtures/payments/ledger.ts'
import { enrolMember } from '../../test/fixtures/people/member.ts'
import {
  assertRefusalOrder,
  namesInOrder,
  refusalNames,
  type RefusalStep,
} from '../../test/fixtures/refusal-order.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import { post } from '../ledger/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { insertUnscoredSession } from '../sessions/index.ts'
import { floorRefusals, personhoodRefusals, walletRefusals } from './verify-personhood.ts'
import { repeatRefusals, verifyRefusals } from './verify.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<typeof harness.register>>

/** Owes credits, or settles the debt with a negative amount. */
const owe = (agent: Agent, amount: bigint) =>
  inTransaction(harness.ctx, agent.agentId, (tx) =>
    post(tx, {
      agentId: agent.agentId,
      mode: 'live',
      kind: 'test_debt',
      reference: harness.ctx.ids.make('ent_'),
      lines: [
        { account: 'owed:credits', unit: 'credit', amount: -amount },
        { account: 'world:purchases', unit: 'credit', amount },
      ],
    }),
  )
const revokeAll = (agent: Agent) =>
  harness.owner.query(
    `insert into credential_states (agent_id, credential_id, seq, state, reason)
     select agent_id, credential_id, 2, 'revoked', 'test' from credentials where agent_id = $1`,
    [agent.agentId],
  )
/** States are never deleted; the test does, to undo the revocation. */
const reinstateAll = async (agent: Agent) => {
  await harness.owner.query('alter table credential_states disable trigger append_only')
  await harness.owner.query("delete from credential_states where agent_id = $1 and state = 'revoked'", [
    agent.agentId,
  ])
  await harness.owner.query('alter table credential_states enable trigger append_only')
}
const deleteClaims = (agent: Agent) =>
  harness.owner.query('delete from credential_claims where agent_id = $1', [agent.agentId])

/** A step whose message is that of its code. */
const step = (
  name: string,
  status: number,
  error: RefusalStep['error'],
  removeReason: RefusalStep['removeReason'],
): RefusalStep => ({ name, status, error, removeReason })

const confirmHint = /Confirm the contact mail address of the agent: 1,000 free verifications/

const sessionId = 'ses_in_order'
/** A session can go back to no earlier state, so it is replaced. */
const removeSession = async (agent: Agent) => {
  for (const table of ['sessions', 'session_claims'])
    await harness.owner.query(`delete from ${table} where agent_id = $1 and session_id = $2`, [
      agent.agentId,
      sessionId,
    ])
}
const replaceByUnscored = async (
  agent: Agent,
  status: 'open' | 'expired',
  challenge: string,
  kind: 'view' | 'approval' = 'view',
) => {
  await removeSession(agent)
  await inTransaction(harness.ctx, agent.agentId, (tx) =>
    insertUnscoredSession(
      tx,
      { agentId: agent.agentId, mode: agent.mode, sessionId },
      { kind, status, simulated: false },
    ),
  )
  await harness.owner.query('update sessions set challenge = $1 where agent_id = $2', [
    challenge,
    agent.agentId,
  ])
}
const replaceByScored = async (agent: Agent, verified: boolean) => {
  await removeSession(agent)
  await makeScoredSession(harness, agent, {
    sessionId,
    verified,
    challenge: 'right',
    reasons: ['attention_unproven'],
  })
}

/** The recording of a micro-task that a completion has claimed. */
const replaceBySpent = async (agent: Agent) => {
  await replaceByScored(agent, true)
  await harness.owner.query(
    "update sessions set kind = 'task', jkt = 'a browser' where agent_id = $1 and session_id = $2",
    [agent.agentId, sessionId],
  )
  await harness.owner.query('insert into attention_claims values ($1, $2, $3, $4) on conflict do nothing', [
    agent.agentId,
    agent.mode,
    sessionId,
    'ses_of_completion',
  ])
}

/** A spent recording that ended more than a day ago. */
const replaceByOld = async (agent: Agent) => {
  await replaceBySpent(agent)
  await harness.owner.query(
    "update sessions set ended_at = ended_at - interval '25 hours' where agent_id = $1 and session_id = $2",
    [agent.agentId, sessionId],
  )
}

test('verify answers its refusals in the order of its list: payment, then the session, then the challenge', async () => {
  const agent = await harness.register('live')
  await owe(agent, 30n)
  let challenge = 'wrong'
  let minAssurance = 'substantial'
  const verify = () =>
    harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId, challenge, minAssurance },
    })
  const steps: readonly RefusalStep[] = [
    step('allowance_refused', 409, 'account_in_debt', () => owe(agent, -30n)),
    {
      ...step('insufficient_credits', 402, 'insufficient_credits', () => grantCredits(harness, agent, 1n)),
      message: confirmHint,
    },
    {
      ...step('session_not_found', 404, 'not_found', () =>
        replaceByUnscored(agent, 'expired', 'right', 'approval'),
      ),
      message: /No such session/,
    },
    step('session_of_approval', 409, 'session_rejected', () => replaceByUnscored(agent, 'expired', 'right')),
    step('session_expired', 409, 'session_expired', () => replaceByUnscored(agent, 'open', 'right')),
    step('session_not_ready', 409, 'session_not_ready', () => replaceByScored(agent, false)),
    step('session_rejected', 409, 'session_rejected', () => replaceByOld(agent)),
    {
      ...step('session_too_old', 409, 'session_expired', () => replaceBySpent(agent)),
      message: /within 24 hours of its end/,
    },
    step('session_used', 409, 'session_rejected', () => replaceByScored(agent, true)),
    step('challenge_mismatch', 400, 'validation_failed', () => (challenge = 'right')),
    step('below_policy', 409, 'session_rejected', () => (minAssurance = 'low')),
  ]
  const answer = await assertRefusalOrder(verify, steps)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(namesInOrder(steps), refusalNames(verifyRefusals))
})

test('a repeat of verify gets the stored bytes whatever its balance and session, or one of its own refusals', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 1n)
  await replaceByScored(agent, true)
  let challenge = 'right'
  let minAssurance = 'low'
  const verify = () =>
    harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId, challenge, minAssurance },
    })
  const first = await verify()
  assert.equal(first.status, 200)
  await owe(agent, 30n)
  await replaceByUnscored(agent, 'expired', 'right')
  assert.equal((await verify()).json.pohf_jwt, first.json.pohf_jwt)
  await revokeAll(agent)
  challenge = 'wrong'
  minAssurance = 'substantial'
  const steps: readonly RefusalStep[] = [
    step('challenge_mismatch', 400, 'validation_failed', () => (challenge = 'right')),
    step('credential_revoked', 409, 'credential_revoked', () => reinstateAll(agent)),
    step('below_policy', 409, 'session_rejected', () => deleteClaims(agent)),
  ]
  const answer = await assertRefusalOrder(verify, steps)
  assert.equal(answer.json.error, 'account_in_debt', answer.text)
  assert.deepEqual(namesInOrder(steps), refusalNames(repeatRefusals))
})

const signWalletChallenge = async (agent: Agent, account: PrivateKeyAccount) => {
  const { json } = await harness.call('POST', '/api/agents/wallet/challenge', {
    key: agent.apiKey,
    body: {},
  })
  const walletSig = await account.signMessage({ message: json.message })
  return { wallet: account.address, walletSig, walletNonce: json.nonce as string }
}

test('verify-personhood answers its refusals in the order of its lists: wallet, revocation, payment, the member, then the floor', async () => {
  const agent = await harness.register('live')
  const { memberId } = await enrolMember(harness, agent)
  const account = privateKeyToAccount(generatePrivateKey())
  const proveWallet = () => signWalletChallenge(agent, account)
  const verify = (body: object) =>
    harness.call('POST', '/api/agents/verify-personhood', { key: agent.apiKey, body: { memberId, ...body } })
  await grantCredits(harness, agent, 2n)
  const first = await verify({})
  const used = await proveWallet()
  assert.deepEqual([first.status, (await verify(used)).status], [200, 200])

  const hideMember = (from: string, to: string) =>
    harness.owner.query('update members set member_id = $3 where agent_id = $1 and member_id = $2', [
      agent.agentId,
      from,
      to,
    ])
  const setStatus = (status: string) =>
    harness.owner.query('update members set status = $2 where agent_id = $1', [agent.agentId, status])
  await owe(agent, 30n)
  await setStatus('withdrawn')
  await hideMember(memberId, 'hidden')
  const repeated = await verify({})
  assert.equal(repeated.json.pohf_jwt, first.json.pohf_jwt)

  await revokeAll(agent)
  let body: object = { wallet: used.wallet, walletNonce: used.walletNonce }
  let floor: object = { minAssurance: 'high' }
  const steps: readonly RefusalStep[] = [
    step('wallet_fields_missing', 400, 'validation_failed', () => (body = used)),
    step('wallet_not_proven', 409, 'nonce_used', async () => (body = await proveWallet())),
    step('credential_revoked', 409, 'credential_revoked', () => deleteClaims(agent)),
    step('allowance_refused', 409, 'account_in_debt', () => owe(agent, -30n)),
    {
      ...step('insufficient_credits', 402, 'insufficient_credits', () =>
        grantCredits(harness, agent, 1n, 'second gift'),
      ),
      message: confirmHint,
    },
    {
      ...step('member_not_found', 404, 'not_found', () => hideMember('hidden', memberId)),
      message: /No such member/,
    },
    step('member_not_enrolled', 409, 'member_not_enrolled', () => setStatus('enrolled')),
    step('below_policy', 409, 'below_policy', () => (floor = {})),
  ]
  const answer = await assertRefusalOrder(() => verify({ ...body, ...floor }), steps)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(namesInOrder(steps), [
    ...refusalNames(walletRefusals),
    ...refusalNames(personhoodRefusals),
    ...refusalNames(floorRefusals),
  ])
})
