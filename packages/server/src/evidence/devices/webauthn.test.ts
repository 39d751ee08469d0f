import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { decodeCBOR, encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { createPasskey, makePasskey, usePasskey } from '../../../test/fixtures/people/authenticator.ts'
import type { Config } from '../../platform/ops/config.ts'
import { loadDeviceTrust } from './attestation-trust.ts'
import { verifyKnownPasskey, verifyNewPasskey } from './webauthn.ts'

const model = await makeAttestedModel()
after(() => model.close())
const { findModel } = await loadDeviceTrust(model.settings as unknown as Config, new Date('2026-11-15'))
const passkey = makePasskey()
const signed = { challenge: 'YS1jaGFsbGVuZ2U', origin: 'https://pohf.example', aaguid: model.aaguid }
const relying = { origins: [signed.origin], rpIds: ['pohf.example'], requiresUserVerification: true }
const created = createPasskey(passkey, signed, { fmt: 'packed', batch: model.batch })
const object = Buffer.from(created.response.attestationObject, 'base64url')

const register = async (attestationObject: Buffer) => {
  const response = { ...created.response, attestationObject: attestationObject.toString('base64url') }
  const credential = { ...created, response } as unknown as RegistrationResponseJSON
  return verifyNewPasskey({ credential, challenge: signed.challenge }, relying, findModel)
}
const assuranceOf = async (attestationObject: Buffer): Promise<string> => {
  const result = await register(attestationObject)
  return result.attested ? result.assurance : result.reason
}
type Statement = Map<string, CBORType>
/** The same attestation with another value in its statement. */
const withStatement = (change: (statement: Statement) => void): Buffer => {
  const attestation = decodeCBOR(new Uint8Array(object)) as Map<string, CBORType>
  const statement = attestation.get('attStmt') as Statement
  change(statement)
  return Buffer.from(encodeCBOR(attestation))
}
/** Two integers with a zero byte before each: what BER may say and DER may not. */
const padSignature = (signature: Buffer): Buffer => {
  const first = signature.readUInt8(3)
  const integers = [signature.subarray(4, 4 + first), signature.subarray(6 + first)]
  const padded = integers.flatMap((one) => [Buffer.from([2, one.length + 1, 0]), one])
  const content = Buffer.concat(padded)
  return Buffer.concat([Buffer.from([0x30, content.length]), content])
}

test('an attestation raises the assurance only in the one form in which its maker wrote it', async () => {
  assert.equal(await assuranceOf(object), 'hardware_strong')
  const padded = withStatement((statement) => {
    statement.set('sig', new Uint8Array(padSignature(Buffer.from(statement.get('sig') as Uint8Array))))
  })
  const longer = withStatement((statement) => {
    const [leaf] = statement.get('x5c') as Uint8Array[]
    statement.set('x5c', [new Uint8Array(Buffer.concat([leaf ?? Buffer.alloc(0), Buffer.alloc(1)]))])
  })
  for (const [name, changed] of [
    ['a signature in BER', padded],
    ['a byte behind the certificate', longer],
    ['bytes behind the object', Buffer.concat([object, Buffer.from([0])])],
  ] as const)
    assert.notEqual(await assuranceOf(changed), 'hardware_strong', name)
})

test('a signature of a passkey is accepted in DER alone', async () => {
  const registered = await register(object)
  assert.ok(registered.attested && registered.key)
  const known = registered.key
  const used = usePasskey(passkey, { ...signed, counter: 1 })
  const verify = async (signature: Buffer) => {
    const response = { ...used.response, signature: signature.toString('base64url') }
    const credential = { ...used, response } as unknown as AuthenticationResponseJSON
    return verifyKnownPasskey({ credential, challenge: signed.challenge }, known, { relying, findModel })
  }
  const signature = Buffer.from(used.response.signature, 'base64url')
  assert.equal((await verify(signature)).attested, true)
  const refused = { attested: false, reason: 'passkey_refused' }
  assert.deepEqual(await verify(padSignature(signature)), refused)
  assert.deepEqual(await verify(Buffer.concat([signature, Buffer.alloc(1)])), refused)
  assert.deepEqual(await verify(Buffer.alloc(0)), refused)
})
