import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { keyPurposes } from '@pohf/protocol'
import type { Clock } from '../platform/ops/clock.ts'
import type { Backend } from './backend.ts'
import { openJournal, readJournalPage, type Journal, type JournalSpan } from './journal.ts'
import {
  activeKey,
  advanceKeyStates,
  headerOf,
  validateClaims,
  nextActivation,
  payloadHash,
  publishAheadMs,
  publishedJwks,
  newKeyRecord,
  typedId,
  typedPayloads,
  type KeyPurpose,
  type KeyRecord,
  type PublishedJwk,
  type Typ,
} from './rules.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const readRecords = (path: string): KeyRecord[] => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as KeyRecord[]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Replaces the file as a whole, and only once the new one is on disk. */
const writeRecords = (path: string, records: readonly KeyRecord[]): void => {
  const draft = `${path}.new`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, JSON.stringify(records, null, 1))
  fsyncSync(file)
  closeSync(file)
  renameSync(draft, path)
}

type KeyringOptions = {
  readonly folder: string
  readonly backend: Backend
  readonly clock: Clock
  /** Tests put a faulty journal here, to see that its fault is found. */
  readonly openJournal?: (folder: string, month: string) => Journal
}
type SigningRequest = {
  readonly purpose: KeyPurpose
  readonly typ: string
  readonly id: string
  readonly payload: unknown
}

/** The keys of a deployment and what they may sign. Lives in the signer's process and nowhere else. */
export const openKeyring = ({ folder, backend, clock, ...parts }: KeyringOptions) => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const journalFolder = join(folder, 'journal')
  const openMonth = parts.openJournal ?? openJournal
  const path = join(folder, 'keyring.json')
  let records = readRecords(path)
  let journal: { month: string; file: Journal } | undefined

  const now = () => clock.now().getTime()
  const destroyInactiveKeys = (keys: readonly KeyRecord[]) => {
    for (const key of keys) if (key.state !== 'pending' && key.state !== 'active') backend.destroy(key.ref)
  }
  /** The state first, then the private part: a death in between leaves a key too many, never one too few. */
  const save = (next: readonly KeyRecord[]) => {
    const before = new Map(records.map((key) => [key.kid, key.state]))
    writeRecords(path, next)
    records = [...next]
    destroyInactiveKeys(next.filter((key) => before.get(key.kid) !== key.state))
  }
  const add = (purpose: KeyPurpose, activeFrom: number): KeyRecord => {
    const key = newKeyRecord({ purpose, generated: backend.generate(), activeFrom, now: now() })
    save([...records, key])
    return key
  }

  /** Brings every key into its state of this hour, and makes the keys that will be needed. */
  const updateKeyStates = (): void => {
    const moved = advanceKeyStates(records, now())
    if (JSON.stringify(moved) !== JSON.stringify(records)) save(moved)
    for (const purpose of keyPurposes) {
      const activeFrom = nextActivation(records, purpose, now())
      if (activeFrom !== undefined) add(purpose, activeFrom)
    }
  }

  const currentJournal = (): Journal => {
    const month = clock.now().toISOString().slice(0, 7)
    if (journal?.month !== month) {
      journal?.file.close()
      journal = { month, file: openMonth(journalFolder, month) }
    }
    return journal.file
  }

  const publicKeyCache = new Map<string, KeyObject>()
  /** Reading a JWK costs as much as checking a signature, so each is read once. */
  const publicKeyOf = ({ kid, jwk }: KeyRecord): KeyObject => {
    const part = publicKeyCache.get(kid) ?? createPublicKey({ key: { ...jwk }, format: 'jwk' })
    publicKeyCache.set(kid, part)
    return part
  }
  const signOne = (key: KeyRecord, data: Buffer): Buffer => {
    const raw = backend.sign(key.ref, data)
    if (!verify('sha256', data, { key: publicKeyOf(key), dsaEncoding: 'ieee-p1363' }, raw))
      throw new Error('a signature did not verify')
    return raw
  }

  /** Journals the whole batch, then signs it, then checks each signature. In this order, always. */
  const signRequests = (requests: readonly SigningRequest[]): string[] => {
    updateKeyStates()
    const ready = requests.map((job) => {
      const key = activeKey(records, job.purpose)
      if (!key) throw new Error(`no active key for ${job.purpose}`)
      return {
        job,
        key,
        input: `${headerOf(job.typ, key.kid)}.${encode(job.payload)}`,
      }
    })
    currentJournal().append(
      ready.map(({ job, key }) => ({ at: now(), kid: key.kid, id: job.id, hash: payloadHash(job.payload) })),
    )
    return ready.map(({ key, input }) => `${input}.${signOne(key, Buffer.from(input)).toString('base64url')}`)
  }

  // Whoever died after a state was written left a private part behind.
  destroyInactiveKeys(records)
  updateKeyStates()
  return {
    /** Claims come in, never bytes: the signer checks them itself, whoever asks. */
    sign: (batch: readonly unknown[]): string[] =>
      signRequests(
        batch.map((claims) => {
          const checked = validateClaims(claims)
          return { purpose: checked.test ? 'test' : 'live', typ: 'JWT', id: checked.jti, payload: checked }
        }),
      ),
    signTyped: (typ: Typ, payload: unknown): string => {
      if (!Object.hasOwn(typedPayloads, typ)) throw new Error('unknown typ')
      const { purposeOf, schema } = typedPayloads[typ]
      const checked = schema.parse(payload)
      const purpose = purposeOf(checked)
      const [jws] = signRequests([{ purpose, typ, id: typedId(typ, checked), payload: checked }])
      if (jws === undefined) throw new Error('signing returned no JWS')
      return jws
    },
    publicKeys: (): PublishedJwk[] => {
      updateKeyStates()
      return publishedJwks(records)
    },
    list: () => {
      updateKeyStates()
      return records.map((key) => ({
        kid: key.kid,
        purpose: key.purpose,
        state: key.state,
        createdAt: key.createdAt,
        activeFrom: key.activeFrom,
        activeUntil: key.activeUntil,
        removeAt: key.removeAt,
      }))
    },
    /** Makes the successor of a key now; it signs once it has been published long enough. */
    rotate: (purpose: KeyPurpose) => {
      updateKeyStates()
      const pending = records.find((key) => key.purpose === purpose && key.state === 'pending')
      return (pending ?? add(purpose, now() + publishAheadMs(purpose))).kid
    },
    /**
     * A key that is in wrong hands leaves at once. If it was signing, its successor takes over without notice:
     * the pending one, which some verifiers know already, else a new one.
     */
    revoke: (kid: string): boolean => {
      if (!records.some((key) => key.kid === kid && key.state !== 'removed' && key.state !== 'revoked'))
        return false
      save(records.map((key) => (key.kid === kid ? { ...key, state: 'revoked' as const } : key)))
      updateKeyStates()
      return true
    },
    /** Whether every key can sign now. The text is no JWS and the signatures go nowhere. */
    selfTest: (): true => {
      updateKeyStates()
      for (const key of records) if (key.state === 'active') signOne(key, Buffer.from('pohf self-test'))
      return true
    },
    readJournal: (span: JournalSpan) => readJournalPage(journalFolder, span),
    close: () => {
      journal?.file.close()
      backend.close()
    },
  }
}
export type Keyring = ReturnType<typeof openKeyring>
