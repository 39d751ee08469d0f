import { at, expectEqual, fractionAt, instantAt, listAt, textAt } from '../../expect.ts'
import { testAgent, uniqueText, verifyJwt } from '../../fixtures.ts'
import { expectStatus, type HttpResponse } from '../../http.ts'
import type { RunContext } from '../../run-context.ts'
import type { Section, Statement } from '../../statement.ts'

const siteverify = 'POST /siteverify'
const aliases = ['POST /recaptcha/api/siteverify', 'POST /turnstile/v0/siteverify'] as const

const send = (world: RunContext, fields: Record<string, string>, path = '/siteverify') =>
  world.http.send({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })

const expectOutcome = (answer: HttpResponse, success: boolean, code?: string): void => {
  expectStatus(answer, 200)
  expectEqual(at(answer.body, 'success'), success, 'success')
  const [first] = listAt(answer.body, 'error-codes')
  expectEqual(first ?? null, code ?? null, 'the first of error-codes')
}

/** A call of a test key with these fields beside its secret. */
const outcome = (id: string, title: string, fields: Record<string, string>, code?: string): Statement => ({
  id: `siteverify.${id}`,
  title,
  needs: [siteverify],
  isProjectDecision: true,
  run: async (world) => {
    const { apiKey } = await testAgent(world)
    expectOutcome(await send(world, { secret: apiKey, ...fields }), code === undefined, code)
  },
})

export const siteverifyProtocol: Section = {
  name: 'POST /siteverify',
  statements: [
    {
      id: 'siteverify.form',
      title:
        'a form with a key as secret and a session as response gets success, a time, a score and a credential',
      needs: [siteverify],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const answer = await send(world, { secret: apiKey, response: uniqueText('form') })
        expectOutcome(answer, true)
        instantAt(answer.body, 'challenge_ts')
        fractionAt(answer.body, 'score')
        await verifyJwt(world, textAt(answer.body, 'credential'))
      },
    },
    {
      id: 'siteverify.json',
      title: 'JSON is accepted as well',
      needs: [siteverify],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const body = { secret: apiKey, response: uniqueText('form') }
        expectOutcome(await world.http.post('/siteverify', body), true)
      },
    },
    {
      id: 'siteverify.addresses',
      title: 'the addresses of reCAPTCHA and Turnstile answer too',
      needs: [...aliases],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        for (const alias of aliases) {
          const path = alias.slice(alias.indexOf('/'))
          expectOutcome(await send(world, { secret: apiKey, response: uniqueText('form') }, path), true)
        }
      },
    },
    {
      id: 'siteverify.once',
      title: 'a session counts once, and a repeat with the same idempotency_key gets the same answer',
      needs: [siteverify],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const fields = { secret: apiKey, response: uniqueText('form') }
        const keyed = { ...fields, idempotency_key: crypto.randomUUID() }
        const first = await send(world, keyed)
        expectOutcome(first, true)
        expectEqual((await send(world, keyed)).text, first.text, 'the answer of the repeat')
        expectOutcome(await send(world, fields), false, 'timeout-or-duplicate')
      },
    },
    outcome('response-missing', 'a call without a response says so', {}, 'missing-input-response'),
    outcome(
      'rejected',
      'a session that is rejected is no success, and the status is 200',
      { response: 'ses_test_fraud' },
      'invalid-input-response',
    ),
    outcome(
      'expired',
      'a session that was not finished in time is too late',
      { response: 'ses_test_expired' },
      'timeout-or-duplicate',
    ),
    outcome(
      'sitekey',
      'a sitekey that is not the agent of the key is refused',
      { response: 'ses_test_pass', sitekey: 'agt_other' },
      'sitekey-secret-mismatch',
    ),
    {
      id: 'siteverify.secret',
      title: 'a missing and a wrong secret are told apart, and our error is in pohf',
      needs: [siteverify],
      isProjectDecision: true,
      run: async (world) => {
        const missing = await send(world, { response: 'ses_test_pass' })
        expectOutcome(missing, false, 'missing-input-secret')
        expectEqual(textAt(missing.body, 'pohf.error'), 'missing_api_key', 'pohf.error')
        const wrong = await send(world, { secret: 'no key', response: 'ses_test_pass' })
        expectOutcome(wrong, false, 'invalid-input-secret')
      },
    },
  ],
}
