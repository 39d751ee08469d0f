import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeProtectedHeader } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { endsByItself, holdLimits } from '../../../test/fixtures/time/held-limits.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { moveProcessTime } from '../../../test/fixtures/time/process-time.ts'
import { startSecondSigner } from '../../../test/fixtures/processes/second-signer.ts'
import { connectSigner } from '../signer-client.ts'
import { openConnection } from '../transport/signer-connection.ts'
import { makeRestoreGuard } from './guard.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-hung-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const firstSocket = join(folder, 'first.sock')
// The second signer is preferred, so that it is the one that hangs.
const harness = await startHarness({
  SIGNER_URL: `unix:${join(folder, 'second', 'signer.sock')},unix:${firstSocket}`,
  SIGNER_SOCKET: firstSocket,
  KEY_LIMIT_PER_MINUTE: '1000000',
})
const { apiKey: key } = await harness.register('test')
const second = await startSecondSigner({
  folder: join(folder, 'second'),
  firstOperatorSocket: harness.ctx.config.SIGNER_OPERATOR_SOCKET,
})
const signer = connectSigner(harness.ctx)
after(async () => {
  await signer.close()
  await second.kill()
})

let sessions = 0
const verify = () =>
  harness.call('POST', '/api/agents/verify', { key, body: { sessionId: `session ${++sessions}` } })

await second.admit(signer)

test('idle signers witness each other once, and their journals stay as long as they are', async () => {
  const guard = makeRestoreGuard({
    ctx: harness.ctx,
    signer,
    listSeenHeads: async () => [],
    onPending: () => undefined,
  })
  const compare = async () => {
    assert.deepEqual(await guard.compareAgain(), [])
    // The reports follow the comparison.
    await sleep(200)
    return signer.states()
  }
  await verify()
  await pollUntil('the batch is acknowledged and witnessed', async () => {
    const states = await compare()
    return (
      states.every(({ peers }) => peers.length === 1) && states.some((each) => each.acknowledged.length > 0)
    )
  })
  await compare()
  const before = (await compare()).map(({ sequence }) => sequence)
  for (let round = 0; round < 3; round++) await compare()
  assert.deepEqual(
    (await signer.states()).map(({ sequence }) => sequence),
    before,
  )
})

/** The api synchronises key manifests with its signers where the test says so, and not every second. */
const holdManifestRounds = (t: TestContext): (() => void) => {
  const rounds: (() => void)[] = []
  const { setInterval: set } = globalThis
  const { mock } = t.mock.method(globalThis, 'setInterval', (round: () => void) => {
    rounds.push(round)
    return set(() => undefined, 2 ** 31 - 1)
  })
  harness.app.startManifestSync()
  mock.restore()
  const [round = assert.fail('the api synchronises no manifests')] = rounds
  return round
}

const signerLimitMs = 2_000
const roundMs = 1_000

/** Holds the limits of requests to signers. */
const holdSignerLimits = (t: TestContext) => {
  const limits = holdLimits(t, signerLimitMs)
  const first = openConnection({ path: firstSocket }, 60_000)
  t.after(() => first.close())
  return {
    ...limits,
    /** The limits of what the signer that hangs was asked: the other one answers whatever came before these requests. */
    unanswered: async (): Promise<unknown[]> => {
      const asked = limits.running()
      for (let request = 0; request < 3; request++) await first.request({ op: 'exchange' })
      const running = limits.running()
      return asked.filter((timer) => running.includes(timer))
    },
  }
}

test('a signer that hangs costs one call its time limit, and no other call and no readiness', async (t) => {
  const syncManifests = holdManifestRounds(t)
  const kids = await second.kids()
  const secondSigns = async () => {
    syncManifests()
    const { json } = await verify()
    return json.pohf_jwt !== undefined && kids.includes(decodeProtectedHeader(json.pohf_jwt).kid ?? '')
  }
  await pollUntil('the second signer signs', secondSigns)
  const limits = holdSignerLimits(t)
  const passProcessTime = moveProcessTime(t)
  second.signal('SIGSTOP')
  t.after(() => second.signal('SIGCONT'))
  let isOver = false
  const slow = verify().finally(() => {
    isOver = true
  })
  let ranOut = 0
  await pollUntil('the call that met the signer that hangs ends', async () => {
    const unanswered = await limits.unanswered()
    ranOut += unanswered.length
    limits.runOut(unanswered)
    return isOver
  })
  assert.equal((await slow).status, 200)
  assert.ok(ranOut > 0, 'it waited')
  // Keys of 5 s are read again, in the round that hangs: they are as old as the test says, on a busy machine too.
  const { clock } = harness.ctx
  let at = clock.now().getTime()
  t.mock.method(clock, 'now', () => new Date(at))
  // Longer than a signer that failed is asked last for, which is 30 s, and than a comparison counts, which is 10 s.
  for (let passedMs = 0; passedMs < 40_000; passedMs += signerLimitMs + roundMs) {
    await pollUntil('a round asks both signers', async () => {
      const before = limits.running().length
      syncManifests()
      return limits.running().length > before
    })
    const asked = await limits.unanswered()
    assert.ok(asked.length > 0, 'one of them hangs')
    passProcessTime(signerLimitMs + roundMs)
    at += signerLimitMs + roundMs
    await harness.advance(signerLimitMs + roundMs)
    const mint = await endsByItself(`a call after ${passedMs} ms`, verify())
    assert.equal(mint.status, 200, mint.text)
    const ready = await endsByItself('readiness', harness.call('GET', '/readyz'))
    assert.equal(ready.status, 200, ready.text)
    limits.runOut(asked)
  }
  limits.stop()
  second.signal('SIGCONT')
  await pollUntil('it signs again', secondSigns)
})
