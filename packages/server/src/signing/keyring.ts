import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { keyPurposes } from '@pohf/protocol'
import type { Clock } from '../platform/ops/clock.ts'
import type { Backend } from './backend.ts'
import {
  openJournal,
  openMonthlyJournal,
  readJournalPage,
  type Journal,
  type JournalEntry,
  type JournalRecord,
  type JournalSpan,
  type OpenJournal,
} from './journal.ts'
import { openAdmittedKeys, type AdmittedKeys, type AdmittedKeysOptions } from './manifest/admitted-keys.ts'
import {
  makeRestoreOperations,
  makeStatusSigner,
  recordsOfRequest,
  type BatchRequest,
} from './restore/signer-records.ts'
import { openSignedLists } from './restore/signed-lists.ts'
import {
  activeKey,
  derSignature,
  headerOf,
  payloadHash,
  typedId,
  typedPayloads,
  type KeyPurpose,
  type KeyRecord,
  type Typ,
} from './rules.ts'
import { openTimelines } from './timelines.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** This signer has no key that may sign now; another one may have. */
export class SigningRefused extends Error {}

type KeyringOptions = AdmittedKeysOptions & {
  /** Tests inject a faulty journal here. */
  readonly openJournal?: OpenJournal
}
type SigningRequest = {
  readonly purpose: KeyPurpose
  readonly typ: string
  readonly id: string
  readonly payload: unknown
  /** The journal record of what is signed. */
  readonly recordOf: (entry: JournalEntry) => JournalRecord
}

type SignData = (key: KeyRecord, data: Buffer) => Buffer
const signWithBackend = (backend: Backend, key: KeyRecord, data: Buffer): Buffer => {
  try {
    return backend.sign(key.ref, data)
  } catch (cause) {
    throw new SigningRefused(`${key.purpose} key ${key.kid} cannot sign with the ${backend.name} back end`, {
      cause,
    })
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
    // The bytes that leave, in the form that OpenSSL verifies directly: asking it for the raw form takes 1.5 times as long.
    if (signature.length !== 64 || !verify('sha256', data, publicKeyOf(key), derSignature(signature)))
      throw new Error(`signature by ${key.purpose} key ${key.kid} does not verify`)
    return signature
  }
}

type SigningParts = {
  readonly keys: AdmittedKeys
  readonly journal: Journal
  readonly signData: SignData
  readonly clock: Clock
}
/** Journals the whole batch, then signs it, then verifies each signature. In this order, always. */
const signRequests = (
  { keys, journal, signData, clock }: SigningParts,
  requests: readonly SigningRequest[],
  before: readonly JournalRecord[] = [],
): string[] => {
  const current = keys.current()
  const prepared = requests.map((request) => {
    const key = activeKey(current, request.purpose)
    if (!key)
      throw new SigningRefused(
        `no active ${request.purpose} key to sign ${request.id} of type ${request.typ}`,
      )
    if (!keys.maySign(key.kid))
      throw new SigningRefused(
        `${request.purpose} key ${key.kid} is revoked, not admitted or too old to sign ${request.id}: docs/operate/keys.md`,
      )
    return { request, key, input: `${headerOf(request.typ, key.kid)}.${encode(request.payload)}` }
  })
  const at = clock.now().getTime()
  const records = prepared.map(({ request, key }) =>
    request.recordOf({ at, kid: key.kid, id: request.id, hash: payloadHash(request.payload) }),
  )
  journal.append([...before, ...records])
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

/** Whether a key of every purpose can sign now. The text is no JWS and the signatures go nowhere. */
const testKeys = (keys: AdmittedKeys, signData: SignData): true => {
  const records = keys.current()
  for (const purpose of keyPurposes) {
    const key = activeKey(records, purpose)
    if (!key || !keys.maySign(key.kid))
      throw new SigningRefused(`signer ${keys.signer} has no admitted ${purpose} key that may sign`)
    signData(key, Buffer.from('pohf self-test'))
  }
  return true
}

const listKeys = (keys: AdmittedKeys) =>
  keys.current().map((key) => ({
    ...publicRecordOf(key),
    signer: keys.signer,
    admitted: keys.isAdmitted(key.kid),
  }))

/** What the api shows as metrics of a signer: until when the last key of each purpose signs, and the disk of the journal. */
const readFigures = (keys: AdmittedKeys, journalFolder: string) => {
  const usable = keys.current().filter(({ state }) => state === 'active' || state === 'pending')
  const { bavail, blocks, bsize } = statfsSync(journalFolder)
  return {
    signer: keys.signer,
    keys: [...Map.groupBy(usable, ({ purpose }) => purpose)].map(([purpose, same]) => ({
      purpose,
      activeUntil: Math.max(...same.map(({ activeUntil }) => activeUntil)),
    })),
    disk: { freeBytes: bavail * bsize, bytes: blocks * bsize },
  }
}
export type SignerFigures = ReturnType<typeof readFigures>

/** Signs everything that is no credential: validated by its own schema, with the key of its purpose. */
const makeTypedSigner =
  (parts: SigningParts, signStatus: ReturnType<typeof makeStatusSigner>) =>
  (typ: Typ, payload: unknown): string => {
    if (!Object.hasOwn(typedPayloads, typ)) throw new Error(`unknown typ ${typ} in a request to sign`)
    const { purposeOf, schema } = typedPayloads[typ]
    const valid = schema.parse(payload)
    const purpose = purposeOf(valid)
    const id = typedId(typ, valid)
    const sign = (signed: unknown, recordOf: SigningRequest['recordOf']): string => {
      const [jws] = signRequests(parts, [{ purpose, typ, id, payload: signed, recordOf }])
      if (jws === undefined) throw new Error(`no JWS for ${id} after signing it with the ${purpose} key`)
      return jws
    }
    return typ === 'statuslist+jwt'
      ? signStatus(valid, sign)
      : sign(valid, (entry) => ({ ...entry, kind: 'typed' }))
  }

/** The keys of one signer and what they may sign. Lives in the signer's process and nowhere else. */
export const openKeyring = ({ openJournal: open = openJournal, ...options }: KeyringOptions) => {
  const { folder, backend, clock } = options
  const keys = openAdmittedKeys(options)
  const timelines = openTimelines(folder)
  const journalFolder = join(folder, 'journal')
  const journal = openMonthlyJournal(journalFolder, clock, open)
  const signData = makeSignData(backend)
  const parts = { keys, journal, signData, clock }
  const { signer } = keys
  const lists = openSignedLists(join(folder, 'status'))
  const signStatus = makeStatusSigner({ signer, cell: options.cell, journal, lists })
  return {
    signer,
    keys,
    timelines,
    /** Claims come in, never bytes: the signer validates them itself, whoever asks. */
    sign: (request: BatchRequest) => {
      const { batch, acknowledged, credentials, before } = recordsOfRequest(journal, clock, request)
      const requests = credentials.map(({ claims, recordOf }) => ({
        purpose: claims.test ? ('test' as const) : ('live' as const),
        typ: 'JWT',
        id: claims.jti,
        payload: claims,
        recordOf,
      }))
      return { signer, batch, acknowledged, jwts: signRequests(parts, requests, before) }
    },
    signTyped: makeTypedSigner(parts, signStatus),
    ...makeRestoreOperations({
      signer,
      cell: options.cell,
      journal,
      journalFolder,
      lists,
      clock,
      keys: keys.current,
      admittedSigners: () => keys.manifests.current()?.manifest.signers.map((each) => each.signer) ?? [],
    }),
    publicKeys: keys.publicKeys,
    list: () => listKeys(keys),
    figures: () => readFigures(keys, journalFolder),
    rotate: keys.rotate,
    /**
     * Removes a compromised key at once. If it was the signing key, its successor takes over without notice: the
     * pending key, which some verifiers know already, else a key in reserve, else a new one.
     */
    revoke: keys.revoke,
    selfTest: () => testKeys(keys, signData),
    readJournal: (span: JournalSpan) => readJournalPage(journalFolder, span),
    close: () => {
      journal.close()
      backend.close()
    },
  }
}
export type Keyring = ReturnType<typeof openKeyring>
