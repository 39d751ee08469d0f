import { at, booleanAt, expectAbsent, expectEqual, expectThat, fractionAt, textAt } from '../../expect.ts'
import { uniqueText, mintMember, otherAgent, testAgent, type Agent } from '../../fixtures.ts'
import {
  expectObject,
  expectRefusal,
  expectSomeRefusal,
  expectStatus,
  type HttpResponse,
} from '../../http.ts'
import { makePasskey } from '../../passkey.ts'
import { refusesInput, type Section, type Statement } from '../../statement.ts'
import type { RunContext } from '../../run-context.ts'

const kinetic = 'POST /api/kinetic/submit'
const challenge = 'POST /api/agents/attest/challenge'
const attest = 'POST /api/agents/attest/verify'
const personhood = 'POST /api/agents/verify-personhood'
const jwks = 'GET /.well-known/jwks.json'

const submit = async (world: RunContext, body: Readonly<Record<string, unknown>>): Promise<HttpResponse> =>
  world.http.post('/api/kinetic/submit', body, { key: (await testAgent(world)).apiKey })

export const presence: Section = {
  name: 'POST /api/kinetic/submit',
  statements: [
    {
      id: 'kinetic.receipt',
      title: 'a receipt is scored into a session',
      needs: [kinetic],
      run: async (world) => {
        const body = { memberId: uniqueText('member'), source: 'receipt', photoHash: uniqueText('photo') }
        expectObject(await submit(world, body))
      },
    },
    {
      id: 'kinetic.geo-photo',
      title: 'a photo with its place is scored into a session',
      needs: [kinetic],
      run: async (world) => {
        const place = { lat: 52.52, lng: 13.4, photoHash: uniqueText('photo') }
        expectObject(await submit(world, { memberId: uniqueText('member'), source: 'geo_photo', ...place }))
      },
    },
    {
      id: 'kinetic.score',
      title: 'the scored session tells its id, its status, its quality and its verdict',
      needs: [kinetic],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await submit(world, { memberId: uniqueText('member'), source: 'receipt' })
        textAt(body, 'sessionId')
        textAt(body, 'status')
        fractionAt(body, 'quality')
        booleanAt(body, 'verified')
      },
    },
    {
      id: 'kinetic.optional-fields',
      title: 'place and photo hash may be left out',
      needs: [kinetic],
      run: async (world) =>
        expectObject(await submit(world, { memberId: uniqueText('member'), source: 'geo_photo' })),
    },
    refusesInput('kinetic.member-required', 'evidence without a member is refused', kinetic, {
      field: 'memberId',
      body: { source: 'receipt' },
    }),
    refusesInput('kinetic.source-required', 'evidence without a source is refused', kinetic, {
      field: 'source',
      body: { memberId: 'somebody' },
    }),
    refusesInput('kinetic.source-known', 'a source other than receipt and geo_photo is refused', kinetic, {
      field: 'source',
      body: { memberId: 'somebody', source: 'rumour' },
    }),
    refusesInput('kinetic.lat-is-a-number', 'text does not pass for a latitude', kinetic, {
      field: 'lat',
      body: { memberId: 'somebody', source: 'geo_photo', lat: '52.52', lng: 13.4 },
    }),
    refusesInput('kinetic.lng-with-lat', 'a latitude without a longitude is refused', kinetic, {
      field: 'lng',
      body: { memberId: 'somebody', source: 'geo_photo', lat: 52.52 },
    }),
    refusesInput('kinetic.lng-on-earth', 'a longitude beyond 180 degrees is refused', kinetic, {
      field: 'lng',
      body: { memberId: 'somebody', source: 'geo_photo', lat: 52.52, lng: 181 },
    }),
  ],
}

const repeatPhoto = async (world: RunContext, by: 'same' | 'other'): Promise<HttpResponse> => {
  const evidence = { source: 'geo_photo', lat: 52.52, lng: 13.4, photoHash: uniqueText('photo') }
  const memberId = uniqueText('member')
  expectStatus(await submit(world, { memberId, ...evidence }), 200)
  return submit(world, { memberId: by === 'same' ? memberId : uniqueText('member'), ...evidence })
}

export const photoUniqueness: readonly Statement[] = [
  {
    id: 'kinetic.photo-once',
    title: 'a photo hash counts once',
    needs: [kinetic],
    run: async (world) => expectSomeRefusal(await repeatPhoto(world, 'same')),
  },
  {
    id: 'kinetic.photo-once-for-all',
    title: 'a photo hash that one member used does not count for another',
    needs: [kinetic],
    run: async (world) => expectSomeRefusal(await repeatPhoto(world, 'other')),
  },
  {
    id: 'kinetic.photo-once-code',
    title: 'a photo hash used before is refused with 409 photo_hash_used',
    needs: [kinetic],
    isProjectDecision: true,
    run: async (world) => expectRefusal(await repeatPhoto(world, 'same'), 409, 'photo_hash_used'),
  },
]

const requestNonce = (world: RunContext, agent: Agent): Promise<HttpResponse> =>
  world.http.post('/api/agents/attest/challenge', undefined, { key: agent.apiKey })

const nonceFor = async (world: RunContext, agent: Agent): Promise<string> =>
  textAt((await requestNonce(world, agent)).body, 'nonce')

const attestWith = (
  world: RunContext,
  agent: Agent,
  body: Readonly<Record<string, unknown>>,
): Promise<HttpResponse> =>
  world.http.post(
    '/api/agents/attest/verify',
    { method: 'webauthn', subjectRef: uniqueText('device'), ...body },
    { key: agent.apiKey },
  )

const answersMethod = (method: string): Statement => ({
  id: `attest.method-${method}`,
  title: `an attestation by ${method} is answered with a verdict and an assurance`,
  needs: [attest, challenge],
  run: async (world) => {
    const agent = await testAgent(world)
    const answer = await attestWith(world, agent, { method, nonce: await nonceFor(world, agent) })
    expectStatus(answer, 200)
    booleanAt(answer.body, 'attested')
    textAt(answer.body, 'assurance')
  },
})

const otherSubject: Statement = {
  id: 'attest.nonce-of-subject',
  title: 'a nonce that was asked for one subject attests no other',
  needs: [attest, challenge],
  isProjectDecision: true,
  run: async (world) => {
    const agent = await testAgent(world)
    const asked = await world.http.post(
      '/api/agents/attest/challenge',
      { subjectRef: uniqueText('device') },
      { key: agent.apiKey },
    )
    const answer = await attestWith(world, agent, { nonce: textAt(asked.body, 'nonce'), evidence: {} })
    expectStatus(answer, 200)
    expectEqual(textAt(answer.body, 'reason'), 'challenge_mismatch', 'reason')
  },
}

const repeatNonce = async (world: RunContext): Promise<HttpResponse> => {
  const agent = await testAgent(world)
  const nonce = await nonceFor(world, agent)
  expectStatus(await attestWith(world, agent, { nonce }), 200)
  return attestWith(world, agent, { nonce })
}

export const attestNonceUniqueness: readonly Statement[] = [
  {
    id: 'attest.nonce-once',
    title: 'an attestation nonce works once',
    needs: [attest, challenge],
    run: async (world) => expectSomeRefusal(await repeatNonce(world)),
  },
  {
    id: 'attest.nonce-once-code',
    title: 'an attestation nonce used before is refused with 409 nonce_used',
    needs: [attest, challenge],
    isProjectDecision: true,
    run: async (world) => expectRefusal(await repeatNonce(world), 409, 'nonce_used'),
  },
]

export const attestation: Section = {
  name: 'Device attestation',
  statements: [
    {
      id: 'attest-challenge.answers',
      title: 'a call without fields answers a nonce and its base64url form',
      needs: [challenge],
      run: async (world) => {
        const answer = await requestNonce(world, await testAgent(world))
        expectStatus(answer, 200)
        textAt(answer.body, 'nonce')
        const encoded = textAt(answer.body, 'challengeB64url')
        expectThat(/^[\w-]+$/.test(encoded), 'base64url text', encoded)
      },
    },
    {
      id: 'attest-challenge.fresh',
      title: 'no attestation nonce is given out twice',
      needs: [challenge],
      run: async (world) => {
        const agent = await testAgent(world)
        const [one, two] = [await nonceFor(world, agent), await nonceFor(world, agent)]
        expectThat(one !== two, 'two nonces', one)
      },
    },
    answersMethod('webauthn'),
    answersMethod('play_integrity'),
    answersMethod('app_attest'),
    otherSubject,
    {
      id: 'attest.no-evidence',
      title: 'a device that shows no evidence is not attested',
      needs: [attest, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const { body } = await attestWith(world, agent, { nonce: await nonceFor(world, agent) })
        expectEqual(at(body, 'attested'), false, 'attested')
        expectEqual(at(body, 'assurance'), 'none', 'assurance')
        expectEqual(at(body, 'reason'), 'evidence_missing', 'reason')
      },
    },
    refusesInput('attest.method-required', 'an attestation without a method is refused', attest, {
      field: 'method',
      body: { nonce: 'n', subjectRef: 'device' },
    }),
    refusesInput('attest.method-known', 'a method other than the three is refused', attest, {
      field: 'method',
      body: { method: 'promise', nonce: 'n', subjectRef: 'device' },
    }),
    refusesInput('attest.nonce-required', 'an attestation without a nonce is refused', attest, {
      field: 'nonce',
      body: { method: 'webauthn', subjectRef: 'device' },
    }),
    refusesInput('attest.subject-required', 'an attestation without a subject is refused', attest, {
      field: 'subjectRef',
      body: { method: 'webauthn', nonce: 'n' },
    }),
    {
      id: 'attest.nonce-known',
      title: 'a nonce that nobody issued attests nothing',
      needs: [attest],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await attestWith(world, await testAgent(world), { nonce: uniqueText('nonce') })
        expectRefusal(answer, 400, 'nonce_expired')
      },
    },
    {
      id: 'attest.nonce-own',
      title: "another agent's nonce attests nothing",
      needs: [attest, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const nonce = await nonceFor(world, await otherAgent(world))
        expectRefusal(await attestWith(world, await testAgent(world), { nonce }), 400, 'nonce_expired')
      },
    },
    {
      id: 'attest.failed-adds-nothing',
      title: 'a failed attestation adds no device claim to the credential of its subject',
      needs: [attest, challenge, personhood, jwks],
      run: async (world) => {
        const agent = await testAgent(world)
        const memberId = uniqueText('member')
        const nonce = await nonceFor(world, agent)
        expectStatus(await attestWith(world, agent, { nonce, subjectRef: memberId }), 200)
        const minted = await mintMember(world, agent, { memberId })
        expectAbsent(await minted.claims(), 'device')
      },
    },
    {
      id: 'attest.device-claim',
      title: 'an attested device adds a device claim to the credential of its subject',
      needs: [attest, challenge, personhood, jwks],
      run: async (world) => {
        const agent = await testAgent(world)
        const memberId = uniqueText('member')
        // The issuer of any credential is the service's own origin, where every agent's passkeys may be made.
        const [issuer] = textAt(
          await (await mintMember(world, agent, { memberId: uniqueText('member') })).claims(),
          'iss',
        ).split('/test')
        const { body } = await requestNonce(world, agent)
        const credential = makePasskey(textAt(body, 'challengeB64url'), new URL(issuer ?? '').origin)
        const attested = await attestWith(world, agent, {
          nonce: textAt(body, 'nonce'),
          subjectRef: memberId,
          evidence: { credential },
        })
        expectStatus(attested, 200)
        expectEqual(at(attested.body, 'attested'), true, 'attested')
        const claims = await (await mintMember(world, agent, { memberId })).claims()
        expectEqual(at(claims, 'device.method'), 'webauthn', 'device.method')
        expectEqual(at(claims, 'device.assurance'), textAt(attested.body, 'assurance'), 'device.assurance')
      },
    },
  ],
}
