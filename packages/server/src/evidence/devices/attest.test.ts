import assert from 'node:assert/strict'
import { KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CompactSign } from 'jose'
import {
  makeAppAssertion,
  makeAppAttestation,
  makeAppDevice,
  makeAuthority,
  pemOf,
  sha256,
} from '../../../test/fixtures/people/device-attestation.ts'
import {
  createPasskey,
  makeAttestationCertificate,
  makePasskey,
  usePasskey,
  type AttestationFormat,
} from '../../../test/fixtures/people/authenticator.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'

// One authority signs the metadata, the models' certificates and the app keys.
const root = await makeAuthority('Root')
const intermediate = await makeAuthority('Intermediate', root)
const stranger = await makeAuthority('Root')
const models = {
  one: '11111111-1111-4111-8111-111111111111',
  two: '22222222-2222-4222-8222-222222222222',
  broken: '33333333-3333-4333-8333-333333333333',
  rootless: '44444444-4444-4444-8444-444444444444',
  unknown: '99999999-9999-4999-8999-999999999999',
}
const folder = mkdtempSync(join(tmpdir(), 'pohf-attest-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const statement = (aaguid: string, ...statuses: string[]) => ({
  aaguid,
  metadataStatement: {
    aaguid,
    description: 'A model',
    protocolFamily: 'fido2',
    schema: 3,
    upv: [{ major: 1, minor: 0 }],
    authenticatorVersion: 1,
    authenticationAlgorithms: ['secp256r1_ecdsa_sha256_raw'],
    publicKeyAlgAndEncodings: ['cose'],
    attestationTypes: ['basic_full'],
    userVerificationDetails: [],
    keyProtection: ['hardware'],
    matcherProtection: ['on_chip'],
    attachmentHint: ['external'],
    tcDisplay: [],
    attestationRootCertificates: [Buffer.from(root.certificate.rawData).toString('base64')],
  },
  statusReports: statuses.map((status) => ({ status })),
})
/** A model without certificates of its maker, as one that attests with the new key itself. */
const rootlessStatement = ({ metadataStatement, ...entry }: ReturnType<typeof statement>) => ({
  ...entry,
  metadataStatement: { ...metadataStatement, attestationRootCertificates: [] },
})
const blob = await new CompactSign(
  Buffer.from(
    JSON.stringify({
      no: 1,
      nextUpdate: '2027-01-01',
      entries: [
        statement(models.one, 'FIDO_CERTIFIED_L1'),
        statement(models.two, 'FIDO_CERTIFIED_L2plus'),
        statement(models.broken, 'FIDO_CERTIFIED_L2', 'ATTESTATION_KEY_COMPROMISE'),
        rootlessStatement(statement(models.rootless, 'FIDO_CERTIFIED_L2')),
      ],
    }),
  ),
)
  .setProtectedHeader({
    alg: 'ES256',
    x5c: [Buffer.from(intermediate.certificate.rawData).toString('base64')],
  })
  .sign(KeyObject.from(intermediate.keys.privateKey))
const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const files = {
  ATTEST_ROOTS_FILE: file('roots.pem', pemOf(root)),
  ATTEST_FIDO_METADATA_FILE: file('metadata.jwt', blob),
}

const harness = await startHarness({ ...files, ATTEST_ALLOW_CUSTOM_ROOTS: 'on' })
const { apiKey: key } = await harness.register('live')
const appId = 'TEAM012345.com.example.app'
const patched = await harness.call('PATCH', '/api/agents/me', {
  key,
  body: {
    attestation: {
      appAttest: { appIds: [appId] },
      webauthn: { origins: ['https://app.example'], rpIds: ['app.example'] },
    },
  },
})
assert.equal(patched.status, 200, patched.text)

const challenge = async (by = key): Promise<string> =>
  (await harness.call('POST', '/api/agents/attest/challenge', { key: by })).json.nonce as string
type Verify = { nonce: string; subjectRef?: string; method?: string; evidence?: unknown }
const verify = async (body: Verify, by = key) =>
  harness.call('POST', '/api/agents/attest/verify', {
    key: by,
    body: { method: 'webauthn', subjectRef: 'person-1', ...body },
  })

const origin = 'https://app.example'
const batches = {
  one: await makeAttestationCertificate(root, models.one),
  two: await makeAttestationCertificate(root, models.two),
  broken: await makeAttestationCertificate(root, models.broken),
  foreign: await makeAttestationCertificate(stranger, models.two),
  rootless: await makeAttestationCertificate(stranger, models.rootless),
  unknown: await makeAttestationCertificate(stranger, models.unknown),
}
const attestPasskey = async (
  aaguid: string,
  vouching: AttestationFormat,
  flags = 5,
  subjectRef = 'person-1',
) => {
  const nonce = await challenge()
  const credential = createPasskey(makePasskey(), { challenge: nonce, origin, aaguid, flags }, vouching)
  return (await verify({ nonce, subjectRef, evidence: { credential } })).json as Record<string, unknown>
}
const packed = (batch: keyof typeof batches): AttestationFormat => ({ fmt: 'packed', batch: batches[batch] })

const attestedAssurance = async (...parameters: Parameters<typeof attestPasskey>) =>
  (await attestPasskey(...parameters))['assurance']

test('a passkey’s assurance follows the trusted metadata of its model, and is software without it', async () => {
  assert.equal(await attestedAssurance(models.two, packed('two')), 'hardware_strong')
  assert.equal(await attestedAssurance(models.two, packed('two'), 1), 'hardware', 'without user verification')
  assert.equal(await attestedAssurance(models.one, packed('one')), 'hardware')
  assert.equal(await attestedAssurance(models.unknown, packed('unknown')), 'software', 'an unknown model')
  assert.equal(await attestedAssurance(models.broken, packed('broken')), 'software', 'a compromised model')
  assert.equal(
    await attestedAssurance(models.rootless, packed('rootless')),
    'software',
    'no certificate to check a chain against',
  )
  assert.equal(await attestedAssurance(models.two, { fmt: 'packed' }), 'software', 'speaks for itself')
  assert.equal(await attestedAssurance(models.two, { fmt: 'none' }), 'software')
  assert.equal(
    await attestedAssurance(models.two, packed('two'), 5 | 8),
    'software',
    'may be copied to other devices',
  )
  assert.equal(
    await attestedAssurance(models.two, packed('foreign')),
    'none',
    'a model’s name under a stranger’s root',
  )
})

test('a passkey with a wrong challenge, origin or RP id is refused', async () => {
  const nonce = await challenge()
  const passkey = makePasskey()
  const options = { challenge: nonce, origin }
  const cases = [
    createPasskey(passkey, { ...options, challenge: 'b3RoZXI' }, { fmt: 'none' }),
    createPasskey(passkey, { ...options, origin: 'https://evil.example' }, { fmt: 'none' }),
    createPasskey(passkey, { ...options, rpId: 'evil.example' }, { fmt: 'none' }),
    createPasskey(passkey, { ...options, type: 'webauthn.get' }, { fmt: 'none' }),
    createPasskey(passkey, { ...options, flags: 0 }, { fmt: 'none' }),
    { id: 'x', response: { attestationObject: 'AAAA', clientDataJSON: 'AAAA' } },
  ]
  for (const credential of cases) {
    const answer = await verify({ nonce: await challenge(), evidence: { credential } })
    assert.deepEqual(answer.json, { attested: false, assurance: 'none', reason: 'passkey_refused' })
  }
})

test('a known passkey signs again; a cloned counter is refused', async () => {
  const passkey = makePasskey()
  const first = await challenge()
  const credential = createPasskey(
    passkey,
    { challenge: first, origin, aaguid: models.two, counter: 3 },
    packed('two'),
  )
  assert.equal(
    (await verify({ nonce: first, subjectRef: 'again', evidence: { credential } })).json.attested,
    true,
  )
  const use = async (counter: number, subjectRef = 'again') => {
    const nonce = await challenge()
    const used = usePasskey(passkey, { challenge: nonce, origin, counter })
    return (await verify({ nonce, subjectRef, evidence: { credential: used } })).json as Record<
      string,
      unknown
    >
  }
  const unbound = { attested: true, reason: 'not_bound' }
  assert.deepEqual(await use(4), { ...unbound, assurance: 'hardware_strong' })
  assert.equal((await use(4))['reason'], 'passkey_refused')
  assert.equal((await use(9, 'somebody else'))['reason'], 'key_unknown')
  assert.deepEqual(await use(5), { ...unbound, assurance: 'hardware_strong' })
})

test('an app key is attested, signs again, and belongs to one subject', async () => {
  const device = await makeAppDevice()
  const keyId = device.keyId.toString('base64')
  const attest = async (subjectRef: string) => {
    const nonce = await challenge()
    const object = await makeAppAttestation(device, {
      root,
      intermediate,
      appId,
      clientDataHash: sha256(nonce),
    })
    const evidence = { keyId, attestationObject: object.toString('base64') }
    return (await verify({ nonce, method: 'app_attest', subjectRef, evidence })).json as Record<
      string,
      unknown
    >
  }
  const unbound = { attested: true, reason: 'not_bound' }
  assert.deepEqual(await attest('phone'), { ...unbound, assurance: 'hardware' })
  assert.equal((await attest('other phone'))['reason'], 'key_taken')
  const signed = async (counter: number) => {
    const nonce = await challenge()
    const clientData = Buffer.from(JSON.stringify({ challenge: nonce }))
    const assertion = await makeAppAssertion(device, { appId, clientData, counter, category: 4 })
    const evidence = {
      keyId,
      assertion: assertion.toString('base64'),
      clientData: clientData.toString('base64'),
    }
    return verify({ nonce, method: 'app_attest', subjectRef: 'phone', evidence })
  }
  assert.deepEqual((await signed(1)).json, { ...unbound, assurance: 'hardware_strong' })
  assert.equal((await signed(1)).json.reason, 'counter_replayed')
  // Twenty concurrent signatures with one counter: the database lets one advance it.
  const race = await Promise.all(Array.from({ length: 20 }, () => signed(7)))
  assert.equal(race.filter(({ json }) => json.attested === true).length, 1)
})

test('a nonce counts once among a hundred concurrent calls, and is consumed with or without evidence', async () => {
  const nonce = await challenge()
  const credential = createPasskey(makePasskey(), { challenge: nonce, origin }, { fmt: 'none' })
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => verify({ nonce, subjectRef: 'race', evidence: { credential } })),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.ok(answers.every(({ status, json }) => status === 200 || json.error === 'nonce_used'))
  const empty = await challenge()
  assert.equal((await verify({ nonce: empty })).json.reason, 'evidence_missing')
  assert.equal((await verify({ nonce: empty })).json.error, 'nonce_used')
})

test('a nonce expires by the database’s clock', async () => {
  const nonce = await challenge()
  await harness.advance(5 * 60_000 + 1_000)
  assert.equal((await verify({ nonce })).json.error, 'nonce_expired')
})

test('an app or origin that the agent did not list attests nothing', async () => {
  const other = await harness.register('live')
  const nonce = await challenge(other.apiKey)
  const credential = createPasskey(makePasskey(), { challenge: nonce, origin }, { fmt: 'none' })
  const answer = await verify({ nonce, evidence: { credential } }, other.apiKey)
  assert.equal(answer.json.reason, 'passkey_refused')
})

test('malformed evidence of each method is refused, never a 500', async () => {
  for (const method of ['webauthn', 'play_integrity', 'app_attest'])
    for (const evidence of [
      null,
      1,
      'x',
      [],
      {},
      { credential: 1 },
      { keyId: 'AA', attestationObject: 'AA' },
      { integrityToken: 'x', packageName: 'y' },
    ]) {
      const answer = await verify({ nonce: await challenge(), method, evidence })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.json.attested, false)
    }
})

test('custom roots give at most software until they are allowed', async () => {
  const capped = await startHarness(files)
  const agent = await capped.register('live')
  const body = { attestation: { webauthn: { origins: [origin], rpIds: ['app.example'] } } }
  await capped.call('PATCH', '/api/agents/me', { key: agent.apiKey, body })
  const { json } = await capped.call('POST', '/api/agents/attest/challenge', { key: agent.apiKey })
  const nonce = json.nonce as string
  const credential = createPasskey(
    makePasskey(),
    { challenge: nonce, origin, aaguid: models.two },
    packed('two'),
  )
  const answer = await capped.call('POST', '/api/agents/attest/verify', {
    key: agent.apiKey,
    body: { method: 'webauthn', nonce, subjectRef: 'p', evidence: { credential } },
  })
  assert.deepEqual(answer.json, { attested: true, assurance: 'software', reason: 'device_unproven' })
})
