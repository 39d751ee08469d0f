import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { decodeProtectedHeader } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { startSecondSigner } from '../../../test/fixtures/processes/second-signer.ts'
import { connectSigner } from '../signer-client.ts'
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
const takesMs = async <T>(call: () => Promise<T>): Promise<{ answer: T; ms: number }> => {
  const started = performance.now()
  return { answer: await call(), ms: performance.now() - started }
}

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
    await setTimeout(200)
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

test('a signer that hangs costs one call its time limit, and no other call and no readiness', async () => {
  harness.app.keepExchangingKeys()
  const kids = await second.kids()
  await pollUntil('the second signer signs', async () => {
    const { json } = await verify()
    return json.pohf_jwt !== undefined && kids.includes(decodeProtectedHeader(json.pohf_jwt).kid ?? '')
  })
  second.signal('SIGSTOP')
  const slow: number[] = []
  const unready: string[] = []
  // Longer than a comparison counts, twice.
  const end = performance.now() + 21_000
  while (performance.now() < end) {
    const mint = await takesMs(verify)
    assert.equal(mint.answer.status, 200, mint.answer.text)
    if (mint.ms > 1_500) slow.push(mint.ms)
    const ready = await harness.call('GET', '/readyz')
    if (ready.status !== 200) unready.push(ready.text)
    await setTimeout(200)
  }
  assert.ok(slow.length <= 1, `slow calls: ${slow.join(', ')} ms`)
  assert.deepEqual(unready, [])
  second.signal('SIGCONT')
  await pollUntil('it signs again', async () => {
    const { json } = await verify()
    return kids.includes(decodeProtectedHeader(json.pohf_jwt).kid ?? '')
  })
})
