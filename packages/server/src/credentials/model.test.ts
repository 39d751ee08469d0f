import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import * as agents from '../agents/index.ts'
import { ledgerFaults, grantCredits } from '../../test/fixtures/payments/ledger.ts'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'
import { mintSignerOf } from '../../test/fixtures/mint-signer.ts'
import { makeCredits } from '../credits/index.ts'
import type { Agent } from '../platform/http/call.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { insertScoredSession } from '../sessions/index.ts'
import { makeRoots } from '../roots/index.ts'
import { connectSigner } from '../signing/index.ts'
import { makeStatusIndexes, readForgingFile } from './index.ts'
import type { CredentialsDeps } from './mint/mint.ts'
import { makeProgress } from '../platform/queue/progress.ts'
import { makeVerifyQueue } from './verify-batch.ts'

/** Concurrent sequences, so that their calls share batches as those of different agents do. */
const slots = 25
/** `npm run battery -- planted` runs four times as many. */
const sequencesPerSlot = process.env['POHF_LONG_MODELS'] === '1' ? 80 : 20
const commandsMax = 7

/** Verify without HTTP: authentication and parsing have their own tests. */
const openMint = (harness: Harness, credits: Partial<CredentialsDeps['credits']> = {}) => {
  const { ctx } = harness
  const signer = connectSigner(ctx)
  const deps = {
    ctx,
    signer,
    mintSigner: mintSignerOf(ctx, signer),
    statusIndexes: makeStatusIndexes(ctx, signer),
    forging: readForgingFile(''),
    credits: { ...makeCredits(ctx, agents), ...credits },
    roots: makeRoots(ctx),
    findPayoutRoot: async () => undefined,
    findWorkRef: async () => undefined,
  }
  const mintOne = makeVerifyQueue(deps, makeProgress())
  return { mintOne, close: signer.close }
}
type Mint = ReturnType<typeof openMint>['mintOne']

type SessionState = 'human' | 'bot' | 'missing'
const states: readonly SessionState[] = ['human', 'human', 'human', 'bot', 'missing']
const sessionsEach = 8
const stateOf = (session: number): SessionState => states[session % states.length] ?? 'missing'

type Model = { balance: bigint; minted: Map<number, string> }
type Real = {
  readonly harness: Harness
  readonly mintOne: Mint
  readonly agent: Agent
  readonly count: Count
}
type Count = { operations: number; minted: number; repeated: number; short: number; refused: number }

class Buy implements fc.AsyncCommand<Model, Real> {
  readonly amount: bigint
  constructor(amount: bigint) {
    this.amount = amount
  }
  check = () => true
  async run(model: Model, { harness, agent, count }: Real): Promise<void> {
    count.operations += 1
    await grantCredits(harness, agent, this.amount, harness.ctx.ids.make('ent_'))
    model.balance += this.amount
  }
  toString = () => `buy(${this.amount})`
}

type Result = { readonly session: number; readonly jwt?: string; readonly code?: string }

class Verify implements fc.AsyncCommand<Model, Real> {
  readonly sessions: readonly number[]
  constructor(sessions: readonly number[]) {
    this.sessions = sessions
  }
  check = () => true
  async run(model: Model, { mintOne, agent, count }: Real): Promise<void> {
    const call = async (session: number): Promise<Result> => {
      try {
        const answer = await mintOne({ agent, input: { sessionId: `${agent.agentId}-${session}` } })
        return { session, jwt: answer.body.pohf_jwt }
      } catch (error) {
        if (error instanceof Refusal) return { session, code: error.code }
        throw error
      }
    }
    // Concurrent calls: the outcome must equal that of some serial order.
    const results = await Promise.all(this.sessions.map(call))
    count.operations += results.length
    const before = model.balance
    const fresh = new Map<number, string>()
    for (const { session, jwt, code } of results) {
      const known = model.minted.get(session)
      if (known !== undefined) {
        count.repeated += 1
        assert.equal(jwt, known, `session ${session} is not repeated as it was`)
        continue
      }
      if (jwt === undefined) {
        if (code === 'insufficient_credits') count.short += 1
        else count.refused += 1
        continue
      }
      assert.equal(stateOf(session), 'human', `session ${session} shows no human and was minted`)
      assert.equal(fresh.get(session) ?? jwt, jwt, `session ${session} was minted twice`)
      fresh.set(session, jwt)
    }
    for (const { session, code } of results) {
      if (code === undefined) continue
      if (before === 0n) assert.equal(code, 'insufficient_credits', 'wrong refusal without credits')
      const expected = { human: undefined, bot: 'session_rejected', missing: 'not_found' }[stateOf(session)]
      assert.ok(code === 'insufficient_credits' || code === expected, `${session} was refused with ${code}`)
      assert.ok(!fresh.has(session), `session ${session} was minted for one and refused to another`)
    }
    const wanted = new Set(
      this.sessions.filter((session) => stateOf(session) === 'human' && !model.minted.has(session)),
    )
    const granted = BigInt(fresh.size)
    const expected = BigInt(wanted.size) < before ? BigInt(wanted.size) : before
    assert.equal(granted, expected, `${granted} of ${wanted.size} were minted with ${before} credits`)
    count.minted += fresh.size
    model.balance -= granted
    for (const [session, jwt] of fresh) model.minted.set(session, jwt)
  }
  toString = () => `verify(${this.sessions.join(', ')})`
}

const session = fc.integer({ min: 0, max: sessionsEach - 1 })
const commands = [
  fc.bigInt({ min: 1n, max: 5n }).map((amount) => new Buy(amount)),
  fc.array(session, { minLength: 1, maxLength: 8 }).map((sessions) => new Verify(sessions)),
  fc.array(session, { minLength: 2, maxLength: 8 }).map((sessions) => new Verify(sessions)),
]

const begin = async (harness: Harness): Promise<Agent> => {
  const agentId = harness.ctx.ids.make('agt_') as Agent['agentId']
  await inTransaction(harness.ctx, agentId, async (tx) => {
    for (let n = 0; n < sessionsEach; n++) {
      if (stateOf(n) === 'missing') continue
      await insertScoredSession(
        tx,
        { agentId, mode: 'live', sessionId: `${agentId}-${n}` },
        {
          kind: 'view',
          simulated: false,
          quality: 0.9,
          verified: stateOf(n) === 'human',
          assurance: 'low',
          scoring: 'test',
          components: { focus: 1, probe: 1, input: null, gaze: null, device: null, history: null },
          flags: [],
          reasons: ['attention_unproven'],
          evidence: [{ type: 'answer', alg: 'sha-256', hash: 'e'.repeat(43) }],
          salt: Buffer.alloc(32),
        },
      )
    }
  })
  return { agentId, mode: 'live', keyId: '', scopes: [], ratePerMinute: null, policy: {} }
}

const runModel = async (harness: Harness, mintOne: Mint, runs: { slots: number; sequences: number }) => {
  const count: Count = { operations: 0, minted: 0, repeated: 0, short: 0, refused: 0 }
  let sequences = 0
  const property = () =>
    fc.asyncProperty(fc.commands(commands, { maxCommands: commandsMax, size: 'max' }), async (sequence) => {
      sequences += 1
      const agent = await begin(harness)
      const setup = () => ({
        model: { balance: 0n, minted: new Map<number, string>() },
        real: { harness, mintOne, agent, count },
      })
      await fc.asyncModelRun(setup, sequence)
    })
  await Promise.all(
    Array.from({ length: runs.slots }, () => fc.assert(property(), { numRuns: runs.sequences })),
  )
  return { sequences, ...count }
}

test('for any sequence of purchases and verifications, serial or concurrent, the mint agrees with a simple model', async (t) => {
  const harness = await startHarness()
  const { mintOne, close } = openMint(harness)
  const totals = await runModel(harness, mintOne, { slots, sequences: sequencesPerSlot })
  await close()
  t.diagnostic(JSON.stringify(totals))
  const { sequences } = totals
  assert.ok(sequences >= slots * sequencesPerSlot && totals.operations >= 10 * sequences)
  assert.ok(totals.minted > sequences && totals.repeated > sequences / 4)
  assert.ok(totals.short > sequences && totals.refused > sequences / 4)
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('the model finds a planted fault: a mint that uses the balance from before the batch', async () => {
  const harness = await startHarness()
  // The check before signing would hide a fault of the statement, so it is disabled as well.
  const { mintOne, close } = openMint(harness, {
    countSpendable: async (_agentId, seen) => (seen.credits > 0n ? 100n : 0n),
  })
  const { rows } = await harness.owner.query<{ text: string }>(
    "select pg_get_functiondef('credentials_mint'::regproc) as text",
  )
  const planted = (rows[0]?.text ?? '').replace(' or ranked.open and ranked.rank > ranked.remaining', '')
  assert.notEqual(planted, rows[0]?.text)
  await harness.owner.query(planted)
  await harness.owner.query('alter table ledger_accounts drop constraint ledger_balance_side')
  await assert.rejects(
    runModel(harness, mintOne, { slots: 1, sequences: 200 }),
    (error: unknown) => error instanceof Error && /were minted with/.test(String(error.cause)),
  )
  await close()
})
