import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { keyPurposes } from '@pohf/protocol'
import type { Clock } from '../platform/ops/clock.ts'
import type { Backend } from './backend.ts'
import { advanceKeyStates, newKeyRecord, nextActivation, type KeyPurpose, type KeyRecord } from './rules.ts'

const readRecords = (path: string): KeyRecord[] => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as KeyRecord[]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw new Error(`key records not readable from ${path}`, { cause: error })
  }
}

/** Replaces the file atomically, after the new one is on disk. */
const writeRecords = (path: string, records: readonly KeyRecord[]): void => {
  const draft = `${path}.new`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, JSON.stringify(records, null, 1))
  fsyncSync(file)
  closeSync(file)
  renameSync(draft, path)
}

const destroyInactiveKeys = (backend: Backend, keys: readonly KeyRecord[]): void => {
  for (const key of keys) if (key.state !== 'pending' && key.state !== 'active') backend.destroy(key.ref)
}

type KeyRecordsOptions = { readonly folder: string; readonly backend: Backend; readonly clock: Clock }

/** The state of every key, in `keyring.json`. */
export const openKeyRecords = ({ folder, backend, clock }: KeyRecordsOptions) => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'keyring.json')
  const now = () => clock.now().getTime()
  let records = readRecords(path)

  /** The state first, then the private key: a crash in between leaves a key too many, never one too few. */
  const save = (next: readonly KeyRecord[]) => {
    const before = new Map(records.map((key) => [key.kid, key.state]))
    writeRecords(path, next)
    records = [...next]
    destroyInactiveKeys(
      backend,
      next.filter((key) => before.get(key.kid) !== key.state),
    )
  }
  const add = (purpose: KeyPurpose, activeFrom: number): KeyRecord => {
    const key = newKeyRecord({ purpose, generated: backend.generate(), activeFrom, now: now() })
    save([...records, key])
    return key
  }
  /** The records, after every key is in the state of this time and the keys needed next are made. */
  const current = (): readonly KeyRecord[] => {
    const advanced = advanceKeyStates(records, now())
    if (JSON.stringify(advanced) !== JSON.stringify(records)) save(advanced)
    for (const purpose of keyPurposes) {
      const activeFrom = nextActivation(records, purpose, now())
      if (activeFrom !== undefined) add(purpose, activeFrom)
    }
    return records
  }

  // A process that crashed after a state was written left a private key behind.
  destroyInactiveKeys(backend, records)
  current()
  return {
    current,
    add,
    /** False where there is no such key, or it is out of use already. */
    revoke: (kid: string): boolean => {
      if (!records.some((key) => key.kid === kid && key.state !== 'removed' && key.state !== 'revoked'))
        return false
      save(records.map((key) => (key.kid === kid ? { ...key, state: 'revoked' as const } : key)))
      current()
      return true
    },
  }
}
