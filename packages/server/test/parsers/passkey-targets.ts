import { MetadataService, type AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { RegistrationResponseJSON, MetadataStatement } from '@simplewebauthn/server'
import { decodeCBOR, decodePartialCBOR, encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import type { DeviceKey } from '../../src/evidence/devices/attestation.ts'
import { verifyKnownPasskey, verifyNewPasskey, type FindModel } from '../../src/evidence/devices/webauthn.ts'
import {
  createPasskey,
  makeAttestationCertificate,
  makePasskey,
  usePasskey,
} from '../fixtures/people/authenticator.ts'
import { derOf, makeAuthority } from '../fixtures/people/device-attestation.ts'
import { sameParts, type Input, type Target } from './target.ts'

const aaguid = '5c4a1e00-0000-4000-8000-00000000a2a2'
const signed = { challenge: 'YS1jaGFsbGVuZ2U', origin: 'https://pohf.example', aaguid }
const relying = { origins: [signed.origin], rpIds: ['pohf.example'], requiresUserVerification: true }
const findModel: FindModel = (asked) =>
  asked === aaguid ? { level: 2, keyProtection: ['hardware'] } : undefined

type Map_ = Map<string, unknown>
const partOf = (input: Input, name: string): Buffer => input[name] ?? Buffer.alloc(0)
const textOf = (input: Input, name: string): string => partOf(input, name).toString('base64url')

const bytes = (length: number) => new Uint8Array(Buffer.alloc(length, 7))
/** Formats without anything genuine here: the statement of one format under the name of another, with its members. */
const otherFormats = (object: Buffer): Buffer[] => {
  const attestation = decodeCBOR(new Uint8Array(object)) as Map_
  const statement = attestation.get('attStmt') as Map<string, CBORType>
  const named = ['tpm', 'android-key', 'android-safetynet', 'fido-u2f', 'apple', 'none']
  const members = new Map<string, CBORType>([
    ...statement,
    ['ver', '2.0'],
    ['certInfo', bytes(120)],
    ['pubArea', bytes(90)],
    ['response', bytes(60)],
  ])
  return named.map((fmt) =>
    Buffer.from(
      encodeCBOR(
        new Map<string, CBORType>([
          ['fmt', fmt],
          ['attStmt', members],
          ['authData', attestation.get('authData') as Uint8Array<ArrayBuffer>],
        ]),
      ),
    ),
  )
}

/** What the maker of the model signed. */
const signedParts = (object: Buffer): string => {
  const [attestation] = decodePartialCBOR(new Uint8Array(object), 0) as [Map_, number]
  const statement = attestation.get('attStmt') as Map_
  const parts = [
    attestation.get('fmt'),
    attestation.get('authData'),
    statement.get('sig'),
    statement.get('x5c'),
  ]
  return Buffer.from(encodeCBOR(parts as CBORType)).toString('hex')
}

const makeModel = async () => {
  const root = await makeAuthority('Root')
  const statement = {
    aaguid,
    attestationTypes: ['basic_full'],
    authenticationAlgorithms: ['secp256r1_ecdsa_sha256_raw'],
    publicKeyAlgAndEncodings: ['cose'],
    userVerificationDetails: [],
    attestationRootCertificates: [derOf(root).toString('base64')],
  }
  await MetadataService.initialize({
    mdsServers: [],
    statements: [statement as unknown as MetadataStatement],
    verificationMode: 'permissive',
  })
  return makeAttestationCertificate(root, aaguid)
}

const registrationTarget = async (): Promise<Target> => {
  const passkey = makePasskey()
  const batch = await makeModel()
  const created = createPasskey(passkey, signed, { fmt: 'packed', batch })
  const object = Buffer.from(created.response.attestationObject, 'base64url')
  const clientData = Buffer.from(created.response.clientDataJSON, 'base64url')
  return {
    name: 'webauthn attestation',
    forms: { object: 'bytes', clientData: 'json' },
    seeds: [{ object, clientData }],
    refused: otherFormats(object).map((each) => ({ object: each, clientData })),
    // Anybody can make a key that counts as software, so only more than that is a forgery.
    run: async (input) => {
      const credential = {
        ...created,
        response: {
          clientDataJSON: textOf(input, 'clientData'),
          attestationObject: textOf(input, 'object'),
        },
      } as unknown as RegistrationResponseJSON
      const result = await verifyNewPasskey({ credential, challenge: signed.challenge }, relying, findModel)
      if (!result.attested || result.assurance === 'software') return 'refused'
      const isEqual =
        partOf(input, 'clientData').equals(clientData) &&
        signedParts(partOf(input, 'object')) === signedParts(object)
      return isEqual ? 'equal' : 'accepted'
    },
  }
}

const assertionTargets = async (): Promise<Target[]> => {
  const passkey = makePasskey()
  const created = createPasskey(passkey, signed, { fmt: 'none' })
  const registered = await verifyNewPasskey(
    { credential: created as unknown as RegistrationResponseJSON, challenge: signed.challenge },
    relying,
    findModel,
  )
  if (!registered.attested || !registered.key) throw new Error('the passkey of the seed is not believed')
  const known: DeviceKey = registered.key
  const used = usePasskey(passkey, { ...signed, counter: 1 })
  const verify = (input: Input, key: DeviceKey) =>
    verifyKnownPasskey(
      {
        credential: {
          ...used,
          response: {
            clientDataJSON: textOf(input, 'clientData'),
            authenticatorData: textOf(input, 'data'),
            signature: textOf(input, 'signature'),
          },
        } as unknown as AuthenticationResponseJSON,
        challenge: signed.challenge,
      },
      key,
      { relying, findModel },
    )
  const parts = {
    clientData: Buffer.from(used.response.clientDataJSON, 'base64url'),
    data: Buffer.from(used.response.authenticatorData, 'base64url'),
    signature: Buffer.from(used.response.signature, 'base64url'),
  }
  return [
    {
      name: 'webauthn assertion',
      forms: { clientData: 'json', data: 'bytes', signature: 'bytes' },
      seeds: [parts],
      run: async (input, seed) => {
        if (!(await verify(input, known)).attested) return 'refused'
        return sameParts(input, seed) ? 'equal' : 'accepted'
      },
    },
    {
      name: 'cose key',
      forms: { key: 'bytes' },
      seeds: [{ key: known.publicKey }],
      run: async (input) => {
        const publicKey = partOf(input, 'key')
        if (!(await verify(parts, { ...known, publicKey })).attested) return 'refused'
        return coseParts(publicKey) === coseParts(known.publicKey) ? 'equal' : 'accepted'
      },
    },
  ]
}
/** Type, algorithm, curve and point of a key; other members, and how they are written, mean nothing. */
const coseParts = (bytes: Buffer): string => {
  const map = decodeCBOR(new Uint8Array(bytes)) as Map<number, CBORType>
  return Buffer.from(encodeCBOR([1, 3, -1, -2, -3].map((label) => map.get(label)) as CBORType)).toString(
    'hex',
  )
}

export const passkeyTargets = async (): Promise<Target[]> => [
  await registrationTarget(),
  ...(await assertionTargets()),
]
