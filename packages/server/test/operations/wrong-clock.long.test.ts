import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { pollUntilStarted, startMain } from '../fixtures/processes/child-processes.ts'
import { startHarness, type TestResponse, type Harness, type TestRequest } from '../fixtures/harness.ts'
import { enrolMember, openBrowser, registerConfirmedAgent } from '../fixtures/people/member.ts'
import { createPasskey, makePasskey, usePasskey } from '../fixtures/people/authenticator.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

// A node whose machine has a wrong clock works beside one whose clock is right, on the same database. What ends a nonce
// is the database's time alone.

/** The library that moves the clock. Its command would stand between us and the process, and take the signals for it. */
const library = /^LD_PRELOAD=(.+)$/m.exec(
  spawnSync('faketime', ['-f', '+0', 'env'], { encoding: 'utf8' }).stdout ?? '',
)?.[1]
const skip = library === undefined ? 'no faketime here: tools/ci/debian-packages.sh' : false
const harness = await startHarness()
const agent = await registerConfirmedAgent(harness, 'live', 'clock@example.com')

/** A real process of the api with its clock moved, as another harness: the same service by another node. */
const startWithClockOffset = async (move: string) => {
  const port = await freePort()
  const { DATABASE_URL, BASE_URL } = harness.ctx.config
  const run = startMain(['api'], {
    DATABASE_URL,
    BASE_URL,
    DATA_DIR: harness.dataDir,
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
    LD_PRELOAD: library ?? '',
    FAKETIME: move,
    // Timers go by the monotonic clock, which no wrong date changes on a real machine either.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  })
  const call = async (method: string, path: string, request: TestRequest = {}): Promise<TestResponse> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.key === undefined ? {} : { authorization: `Bearer ${request.key}` }),
        ...request.headers,
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      signal: AbortSignal.timeout(20_000),
    })
    const text = await response.text()
    const headers = Object.fromEntries(response.headers)
    return { status: response.status, headers, text, json: JSON.parse(text) }
  }
  await pollUntilStarted('the node is there', run, () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return {
    node: { ...harness, call } satisfies Harness,
    stop: async () => {
      run.child.kill('SIGTERM')
      await run.exited
    },
  }
}

const { origin } = new URL(harness.ctx.config.BASE_URL)
const challengeAt = async (node: Harness): Promise<{ nonce: string; expiresAt: string }> =>
  (await node.call('POST', '/api/agents/attest/challenge', { key: agent.apiKey, body: {} })).json
const verifyAt = (node: Harness, nonce: string) => {
  const credential = createPasskey(makePasskey(), { challenge: nonce, origin }, { fmt: 'none' })
  const body = { method: 'webauthn', nonce, subjectRef: `subject ${nonce}`, evidence: { credential } }
  return node.call('POST', '/api/agents/attest/verify', { key: agent.apiKey, body })
}
const databaseNow = async (): Promise<number> =>
  (await harness.owner.query<{ now: Date }>('select pohf_now() as now')).rows[0]?.now.getTime() ?? 0

const minuteMs = 60_000
const clockOffsets: readonly (readonly [string, number])[] = [
  ['-30d', -43_200 * minuteMs],
  ['-10m', -10 * minuteMs],
  ['+10m', 10 * minuteMs],
  ['+30d', 43_200 * minuteMs],
]
for (const [move, ms] of clockOffsets)
  test(
    `a node whose clock is off by ${move} takes every good nonce and passkey, and none that is over`,
    { skip },
    async () => {
      const { node, stop } = await startWithClockOffset(move)
      try {
        const told = await node.call('GET', '/api/agents/me', { key: agent.apiKey })
        const off = Date.parse(told.headers['date'] ?? '') - Date.now()
        assert.ok(Math.abs(off - ms) < minuteMs, `the clock is off by ${off} ms: nothing is tried here`)

        const [right, wrong] = [await challengeAt(harness), await challengeAt(node)]
        const lifeMs = Date.parse(wrong.expiresAt) - (await databaseNow())
        assert.ok(lifeMs > 4 * minuteMs && lifeMs <= 5 * minuteMs, `it lives for ${lifeMs} ms`)
        for (const [there, { nonce }] of [
          [node, right],
          [harness, wrong],
        ] as const) {
          assert.equal((await verifyAt(there, nonce)).json.attested, true)
          assertRefusal(await verifyAt(node, nonce), 409, 'nonce_used')
        }

        const { passkey } = await enrolMember(harness, agent)
        const [here, there] = [openBrowser(harness), openBrowser(node)]
        const asked = async (browser: typeof here) => {
          const { publicKey } = (await browser.post('passkey-options', { purpose: 'sign_in' })).json
          return usePasskey(passkey, { challenge: publicKey.challenge, origin: here.origin })
        }
        assert.equal((await there.post('sign-in', { credential: await asked(here) })).status, 200)
        assert.equal((await here.post('sign-in', { credential: await asked(there) })).status, 200)
        assert.equal((await there.get('me')).status, 200)

        const late = [await challengeAt(harness), await challengeAt(node)]
        const lateSigns = [await asked(here), await asked(there)]
        await harness.advance(5 * minuteMs + 1_000)
        for (const { nonce } of late) assertRefusal(await verifyAt(node, nonce), 400, 'nonce_expired')
        for (const credential of lateSigns)
          assertRefusal(await openBrowser(node).post('sign-in', { credential }), 400, 'passkey_refused')
      } finally {
        await stop()
      }
    },
  )
