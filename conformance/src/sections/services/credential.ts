import { createPublicKey, verify as verifySignature } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { at, booleanAt, expectAbsent, expectEqual, expectThat, fractionAt, textAt } from '../../expect.ts'
import { keySet, mintSession, verifyJwt, sharedMember, sharedSession, testAgent } from '../../fixtures.ts'
import { expectStatus } from '../../http.ts'
import { notObservable, type Section } from '../../statement.ts'

const verify = 'POST /api/agents/verify'
const personhood = 'POST /api/agents/verify-personhood'
const jwks = 'GET /.well-known/jwks.json'
const testSession = 'POST /api/test/sessions'

export const credential: Section = {
  name: 'Credential response',
  statements: [
    {
      id: 'credential.fields-of-verify',
      title: 'verifying a session answers the JWT, a verdict, a quality and an id',
      needs: [verify],
      run: async (world) => {
        const { body } = (await sharedSession(world)).answer
        textAt(body, 'pohf_jwt')
        booleanAt(body, 'verified')
        fractionAt(body, 'quality')
        textAt(body, 'credentialId')
      },
    },
    {
      id: 'credential.fields-of-personhood',
      title: 'verifying a person answers the same four fields',
      needs: [personhood],
      run: async (world) => {
        const { body } = (await sharedMember(world)).answer
        textAt(body, 'pohf_jwt')
        booleanAt(body, 'verified')
        fractionAt(body, 'quality')
        textAt(body, 'credentialId')
      },
    },
    {
      id: 'credential.compact',
      title: 'the JWT is a compact JWS: three base64url parts',
      needs: [verify],
      run: async (world) => {
        const { jwt } = await sharedSession(world)
        expectThat(/^[\w-]+\.[\w-]+\.[\w-]+$/.test(jwt), 'three base64url parts', jwt)
      },
    },
    {
      id: 'credential.es256',
      title: 'the JWT is signed with ES256',
      needs: [verify],
      run: async (world) =>
        expectEqual(decodeProtectedHeader((await sharedSession(world)).jwt).alg, 'ES256', 'alg'),
    },
    {
      id: 'credential.verifies',
      title: 'a standard JWT library verifies a session credential with the public keys alone',
      needs: [verify, jwks],
      run: async (world) => {
        const { protectedHeader } = await verifyJwt(world, (await sharedSession(world)).jwt)
        expectEqual(protectedHeader.alg, 'ES256', 'alg')
      },
    },
    {
      id: 'credential.personhood-verifies',
      title: 'a standard JWT library verifies a personhood credential too',
      needs: [personhood, jwks],
      run: async (world) => {
        const { protectedHeader } = await verifyJwt(world, (await sharedMember(world)).jwt)
        expectEqual(protectedHeader.alg, 'ES256', 'alg')
      },
    },
    {
      id: 'credential.verifies-without-a-jwt-library',
      title: 'the signature is plain ECDSA P-256 over header and payload, checkable with bare cryptography',
      needs: [verify, jwks],
      run: async (world) => {
        const { jwt } = await sharedSession(world)
        const { kid } = decodeProtectedHeader(jwt)
        const jwk = (await keySet(world)).keys.find((key) => key.kid === kid)
        expectThat(jwk !== undefined, `a public key with kid ${kid}`, 'none')
        const [header, payload, signature] = jwt.split('.')
        const isGood = verifySignature(
          'sha256',
          Buffer.from(`${header}.${payload}`),
          { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
          Buffer.from(signature ?? '', 'base64url'),
        )
        expectThat(isGood, 'a good signature', 'a bad one')
      },
    },
    {
      id: 'credential.names-its-key',
      title: 'the JWT names its key, and the key set has exactly one of that name',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { kid } = decodeProtectedHeader((await sharedSession(world)).jwt)
        const named = (await keySet(world)).keys.filter((key) => key.kid === kid)
        expectEqual(named.length, 1, `keys named ${kid}:`)
      },
    },
    {
      id: 'credential.session-test-marker',
      title: 'what a test key mints for a session is marked test: true',
      needs: [verify, jwks],
      run: async (world) => expectEqual((await (await sharedSession(world)).claims())['test'], true, 'test'),
    },
    {
      id: 'credential.personhood-test-marker',
      title: 'what a test key mints for a person is marked test: true',
      needs: [personhood, jwks],
      run: async (world) => expectEqual((await (await sharedMember(world)).claims())['test'], true, 'test'),
    },
    {
      id: 'credential.test-issuer',
      title: 'a test credential names another issuer than production proof would',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const issuer = textAt(await (await sharedSession(world)).claims(), 'iss')
        expectThat(issuer.endsWith('/test'), 'an issuer that ends in /test', issuer)
      },
    },
    {
      id: 'credential.verified',
      title: 'an attentive person is verified, in the answer and in the signed claims',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const minted = await sharedSession(world)
        expectEqual(booleanAt(minted.answer.body, 'verified'), true, 'verified')
        expectEqual((await minted.claims())['verified'], true, 'the claim verified')
      },
    },
    {
      id: 'credential.quality-signed',
      title: 'the quality in the answer is the one that was signed',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const minted = await sharedSession(world)
        expectEqual(
          at(await minted.claims(), 'quality'),
          fractionAt(minted.answer.body, 'quality'),
          'the claim quality',
        )
      },
    },
    {
      id: 'credential.id-signed',
      title: 'the credential id is the id of the JWT',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const minted = await sharedSession(world)
        expectEqual((await minted.claims()).jti, minted.credentialId, 'jti')
      },
    },
    {
      id: 'credential.ids-differ',
      title: 'two sessions give two credentials with different ids',
      needs: [verify],
      run: async (world) => {
        const other = await mintSession(world, await testAgent(world))
        expectThat(other.credentialId !== (await sharedSession(world)).credentialId, 'two ids', 'one id')
      },
    },
    {
      id: 'credential.names-its-act',
      title: 'the claims say which kind of act a person did: a view, or a personhood check',
      needs: [verify, personhood, jwks],
      isProjectDecision: true,
      run: async (world) => {
        expectEqual((await (await sharedSession(world)).claims())['kind'], 'view', 'kind')
        expectEqual((await (await sharedMember(world)).claims())['kind'], 'personhood', 'kind')
      },
    },
    {
      id: 'credential.names-its-agent',
      title: 'the claims say for which agent the credential was minted',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { agentId } = await testAgent(world)
        expectEqual((await (await sharedSession(world)).claims())['agent'], agentId, 'agent')
      },
    },
    {
      id: 'credential.expires',
      title: 'the JWT has a time of issue and an end',
      needs: [verify, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { iat = 0, exp = 0 } = await (await sharedSession(world)).claims()
        expectThat(iat > 0 && exp > iat, 'iat and a later exp', { iat, exp })
      },
    },
    {
      id: 'credential.no-device-unattested',
      title: 'without an attested device there is no device claim',
      needs: [verify, jwks],
      run: async (world) => expectAbsent(await (await sharedSession(world)).claims(), 'device'),
    },
    {
      id: 'credential.no-wallet-unbound',
      title: 'without a wallet in the call there is no wallet claim',
      needs: [personhood, jwks],
      run: async (world) => expectAbsent(await (await sharedMember(world)).claims(), 'wallet'),
    },
    notObservable(
      'credential.live-unmarked',
      'what a live key mints carries no test marker',
      [verify, jwks],
      "needs a real person's session and a live key with credits",
    ),
    {
      id: 'credential.work-kind',
      title: 'the session of a worker gives a work credential',
      needs: [verify, jwks, testSession],
      run: async (world) => {
        const agent = await testAgent(world)
        const made = await world.http.post('/api/test/sessions', { kind: 'work' }, { key: agent.apiKey })
        expectStatus(made, 200)
        const { answer, claims } = await mintSession(world, agent, textAt(made.body, 'sessionId'))
        expectEqual(at(answer.body, 'kind'), 'work', 'kind')
        expectEqual((await claims())['kind'], 'work', 'claim kind')
      },
    },
  ],
}
