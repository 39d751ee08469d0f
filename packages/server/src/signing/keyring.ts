import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../platform/ops/clock.ts'
import type { Backend } from './backend.ts'
import {
  openJournal,
  openMonthlyJournal,
  readJournalPage,
  type Journal,
  type JournalSpan,
  type OpenJournal,
} from './journal.ts'
import { openKeyRecords } from './key-records.ts'
import {
  activeKey,
  headerOf,
  payloadHash,
  publishAheadMs,
  publishedJwks,
  typedId,
  typedPayloads,
  validateClaims,
  type KeyPurpose,
  type KeyRecord,
  type PublishedJwk,
  type Typ,
} from './rules.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

type KeyringOptions = {
  readonly folder: string
  readonly backend: Backend
  readonly clock: Clock
  /** Tests inject a faulty journal here. */
  readonly openJournal?: OpenJournal
}
type SigningRequest = {
  readonly purpose: KeyPurpose
  readonly typ: string
  readonly id: string
  readonly payload: unknown
}

type SignData = (key: KeyRecord, data: Buffer) => Buffer
const signWithBackend = (backend: Backend, key: KeyRecord, data: Buffer): Buffer => {
  try {
    return backend.sign(key.ref, data)
  } catch (cause) {
    throw new Error(`${key.purpose} key ${key.kid} cannot sign with the ${backend.name} back end`, { cause })
  }
}
/** Signs with the back end and verifies each signature before it leaves. */
const makeSignData = (backend: Backend): SignData => {
  const publicKeyCache = new Map<string, KeyObject>()
  /** Importing a JWK costs as much as verifying a signature, so each is imported once. */
  const publicKeyOf = ({ kid, jwk }: KeyRecord): KeyObject => {
    const key = publicKeyCache.get(kid) ?? createPublicKey({ key: { ...jwk }, format: 'jwk' })
    publicKeyCache.set(kid, key)
    return key
  }
  return (key, data) => {
    const signature = signWithBackend(backend, key, data)
    if (!verify('sha256', data, { key: publicKeyOf(key), dsaEncoding: 'ieee-p1363' }, signature))
      throw new Error(`signature by ${key.purpose} key ${key.kid} does not verify`)
    return signature
  }
}

type SigningParts = {
  readonly keys: ReturnType<typeof openKeyRecords>
  readonly journal: Journal
  readonly signData: SignData
  readonly clock: Clock
}
/** Journals the whole batch, then signs it, then verifies each signature. In this order, always. */
const signRequests = (
  { keys, journal, signData, clock }: SigningParts,
  requests: readonly SigningRequest[],
): string[] => {
  const records = keys.current()
  const prepared = requests.map((request) => {
    const key = activeKey(records, request.purpose)
    if (!key) throw new Error(`no active ${request.purpose} key to sign ${request.id} of type ${request.typ}`)
    return { request, key, input: `${headerOf(request.typ, key.kid)}.${encode(request.payload)}` }
  })
  journal.append(
    prepared.map(({ request, key }) => ({
      at: clock.now().getTime(),
      kid: key.kid,
      id: request.id,
      hash: payloadHash(request.payload),
    })),
  )
  return prepared.map(
    ({ key, input }) => `${input}.${signData(key, Buffer.from(input)).toString('base64url')}`,
  )
}

const publicRecordOf = (key: KeyRecord) => ({
  kid: key.kid,
  purpose: key.purpose,
  state: key.state,
  createdAt: key.createdAt,
  activeFrom: key.activeFrom,
  activeUntil: key.activeUntil,
  removeAt: key.removeAt,
})

/** The keys of a deployment and what they may sign. Lives in the signer's process and nowhere else. */
export const openKeyring = ({ folder, backend, clock, ...options }: KeyringOptions) => {
  const keys = openKeyRecords({ folder, backend, clock })
  const journalFolder = join(folder, 'journal')
  const journal = openMonthlyJournal(journalFolder, clock, options.openJournal ?? openJournal)
  const signData = makeSignData(backend)
  const parts = { keys, journal, signData, clock }
  return {
    /** Claims come in, never bytes: the signer validates them itself, whoever asks. */
    sign: (batch: readonly unknown[]): string[] =>
      signRequests(
        parts,
        batch.map((claims) => {
          const valid = validateClaims(claims)
          return { purpose: valid.test ? 'test' : 'live', typ: 'JWT', id: valid.jti, payload: valid }
        }),
      ),
    signTyped: (typ: Typ, payload: unknown): string => {
      if (!Object.hasOwn(typedPayloads, typ)) throw new Error(`unknown typ ${typ} in a request to sign`)
      const { purposeOf, schema } = typedPayloads[typ]
      const valid = schema.parse(payload)
      const purpose = purposeOf(valid)
      const id = typedId(typ, valid)
      const [jws] = signRequests(parts, [{ purpose, typ, id, payload: valid }])
      if (jws === undefined) throw new Error(`no JWS for ${id} after signing it with the ${purpose} key`)
      return jws
    },
    publicKeys: (): PublishedJwk[] => publishedJwks(keys.current()),
    list: () => keys.current().map(publicRecordOf),
    /** Makes the successor of a key now; it signs once it has been published long enough. */
    rotate: (purpose: KeyPurpose): string => {
      const pending = keys.current().find((key) => key.purpose === purpose && key.state === 'pending')
      return (pending ?? keys.add(purpose, clock.now().getTime() + publishAheadMs(purpose))).kid
    },
    /**
     * Removes a compromised key at once. If it was the signing key, its successor takes over without notice: the
     * pending key, which some verifiers know already, else a new one.
     */
    revoke: keys.revoke,
    /** Whether every key can sign now. The text is no JWS and the signatures go nowhere. */
    selfTest: (): true => {
      for (const key of keys.current())
        if (key.state === 'active') signData(key, Buffer.from('pohf self-test'))
      return true
    },
    readJournal: (span: JournalSpan) => readJournalPage(journalFolder, span),
    close: () => {
      journal.close()
      backend.close()
    },
  }
}
export type Keyring = ReturnType<typeof openKeyring>
