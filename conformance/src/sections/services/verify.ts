import { expectAbsent, expectEqual, expectThat, fractionAt, recordAt, textAt } from '../../expect.ts'
import {
  uniqueText,
  liveAgent,
  mintSession,
  readBalance,
  registerAgent,
  sharedSession,
  otherAgent,
  testAgent,
} from '../../fixtures.ts'
import { expectRefusal, expectStatus } from '../../http.ts'
import { refusesInput, type Section, type Statement } from '../../statement.ts'

const verify = 'POST /api/agents/verify'
const balance = 'GET /api/agents/credits/balance'
const kinetic = 'POST /api/kinetic/submit'
const jwks = 'GET /.well-known/jwks.json'

const sandboxOutcome = (sessionId: string, status: number, code: string): Statement => ({
  id: `verify.sandbox-${sessionId}`,
  title: `to a test key ${sessionId} always ends in ${status} ${code}`,
  needs: [verify],
  isProjectDecision: true,
  run: async (world) => {
    const { apiKey } = await testAgent(world)
    expectRefusal(await world.http.post('/api/agents/verify', { sessionId }, { key: apiKey }), status, code)
  },
})

export const verifySession: Section = {
  name: 'POST /api/agents/verify',
  statements: [
    {
      id: 'verify.mints',
      title: 'a human session is turned into a credential',
      needs: [verify],
      run: async (world) => {
        const { answer } = await mintSession(world, await testAgent(world))
        expectStatus(answer, 200)
        textAt(answer.body, 'pohf_jwt')
      },
    },
    refusesInput('verify.session-required', 'a call without a session is refused', verify, {
      field: 'sessionId',
      body: {},
    }),
    refusesInput('verify.session-is-text', 'a number does not pass for a session id', verify, {
      field: 'sessionId',
      body: { sessionId: 5 },
    }),
    {
      id: 'verify.quality',
      title: 'the answer carries how attentive the person was, from 0 to 1',
      needs: [verify],
      run: async (world) => {
        fractionAt((await sharedSession(world)).answer.body, 'quality')
      },
    },
    {
      id: 'verify.telemetry',
      title: 'the answer carries the hashes that make tampering with the telemetry evident',
      needs: [verify],
      isProjectDecision: true,
      run: async (world) => {
        const telemetry = recordAt((await sharedSession(world)).answer.body, 'telemetry')
        textAt(telemetry, 'alg')
        textAt(telemetry, 'root')
      },
    },
    {
      id: 'verify.telemetry-signed',
      title: 'the telemetry root of the answer is inside the signed claims',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const minted = await sharedSession(world)
        expectEqual(
          textAt(await minted.claims(), 'telemetry.root'),
          textAt(minted.answer.body, 'telemetry.root'),
          'telemetry.root',
        )
      },
    },
    {
      id: 'verify.no-credits',
      title: 'a live key without credits mints nothing',
      needs: [verify],
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const body = { sessionId: uniqueText('session') }
        const answer = await world.http.post('/api/agents/verify', body, { key: apiKey })
        expectRefusal(answer, 402)
        expectAbsent(answer.body, 'pohf_jwt')
      },
    },
    {
      id: 'verify.no-credits-code',
      title: 'the refusal says insufficient_credits, whether the session exists or not',
      needs: [verify],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const body = { sessionId: uniqueText('session') }
        expectRefusal(
          await world.http.post('/api/agents/verify', body, { key: apiKey }),
          402,
          'insufficient_credits',
        )
      },
    },
    {
      id: 'verify.refusal-is-free',
      title: 'a refused call uses no credit',
      needs: [verify, balance],
      run: async (world) => {
        const agent = await liveAgent(world)
        const before = await readBalance(world, agent)
        const body = { sessionId: uniqueText('session') }
        expectRefusal(await world.http.post('/api/agents/verify', body, { key: agent.apiKey }), 402)
        expectEqual(
          (await readBalance(world, agent)).lifetimeConsumed,
          before.lifetimeConsumed,
          'lifetimeConsumed',
        )
      },
    },
    {
      id: 'verify.repeat',
      title: 'the same session again gives the same JWT, says so and uses no further credit',
      needs: [verify, balance],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const sessionId = uniqueText('session')
        const first = await mintSession(world, agent, sessionId)
        const before = await readBalance(world, agent)
        const second = await mintSession(world, agent, sessionId)
        expectEqual(second.jwt, first.jwt, 'the first JWT')
        expectEqual(second.answer.headers.get('idempotent-replayed'), 'true', 'Idempotent-Replayed')
        expectEqual(
          (await readBalance(world, agent)).lifetimeConsumed,
          before.lifetimeConsumed,
          'lifetimeConsumed',
        )
      },
    },
    {
      id: 'verify.test-balance-stays',
      title: 'verifying with a test key never lowers its balance',
      needs: [verify, balance],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const before = await readBalance(world, agent)
        await mintSession(world, agent)
        expectEqual((await readBalance(world, agent)).balance, before.balance, 'balance')
      },
    },
    {
      id: 'verify.sandbox-says-so',
      title: 'an invented session of a test key is answered as simulated, in the header and in the evidence',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const minted = await sharedSession(world)
        expectEqual(minted.answer.headers.get('x-sandbox'), 'simulated', 'X-Sandbox')
        const evidence = JSON.stringify((await minted.claims())['evidence'] ?? null)
        expectThat(evidence.includes('simulated'), 'simulated in the evidence claim', evidence)
      },
    },
    {
      id: 'verify.sandbox-ses_test_pass',
      title: 'to a test key ses_test_pass always ends in a credential',
      needs: [verify],
      isProjectDecision: true,
      run: async (world) =>
        expectStatus((await mintSession(world, await testAgent(world), 'ses_test_pass')).answer, 200),
    },
    sandboxOutcome('ses_test_low_quality', 409, 'session_rejected'),
    sandboxOutcome('ses_test_fraud', 409, 'session_rejected'),
    sandboxOutcome('ses_test_expired', 409, 'session_expired'),
    sandboxOutcome('ses_test_pending', 409, 'session_not_ready'),
    sandboxOutcome('ses_test_unknown', 404, 'not_found'),
    sandboxOutcome('ses_test_fail', 404, 'not_found'),
    {
      id: 'verify.needs-no-purchase',
      title: 'a test key verifies before it ever bought anything',
      needs: [verify],
      run: async (world) => {
        const fresh = await registerAgent(world, 'test')
        expectStatus((await mintSession(world, fresh)).answer, 200)
      },
    },
    {
      id: 'verify.presence-session',
      title: 'presence evidence becomes a credential through the same call',
      needs: [verify, kinetic, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const evidence = { memberId: uniqueText('member'), source: 'receipt', photoHash: uniqueText('photo') }
        const submitted = await world.http.post('/api/kinetic/submit', evidence, { key: agent.apiKey })
        expectStatus(submitted, 200)
        const minted = await mintSession(world, agent, textAt(submitted.body, 'sessionId'))
        expectEqual((await minted.claims())['kind'], 'presence', 'kind')
      },
    },
    {
      id: 'verify.foreign-session',
      title: "another agent's session counts as unknown: its evidence does not leak into a credential",
      needs: [verify, kinetic, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const owner = await testAgent(world)
        const evidence = { memberId: uniqueText('member'), source: 'receipt', photoHash: uniqueText('photo') }
        const submitted = await world.http.post('/api/kinetic/submit', evidence, { key: owner.apiKey })
        const sessionId = textAt(submitted.body, 'sessionId')
        const minted = await mintSession(world, await otherAgent(world), sessionId)
        expectEqual((await minted.claims())['kind'], 'view', 'kind')
      },
    },
  ],
}
