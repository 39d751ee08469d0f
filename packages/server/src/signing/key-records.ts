import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { keyPurposes } from '@pohf/protocol'
import type { Clock } from '../platform/ops/clock.ts'
import { readFileIfThere, replaceFile } from './folder/atomic-file.ts'
import type { Backend } from './backend.ts'
import {
  activateAt,
  advanceKeyStates,
  newKeyRecord,
  nextActivation,
  type KeyPurpose,
  type KeyRecord,
} from './rules.ts'

const readRecords = (path: string): KeyRecord[] => {
  try {
    return JSON.parse(readFileIfThere(path) ?? '[]') as KeyRecord[]
  } catch (error) {
    throw new Error(`key records not readable from ${path}`, { cause: error })
  }
}

const destroyUnusableKeys = (backend: Backend, keys: readonly KeyRecord[]): void => {
  for (const key of keys)
    if (key.state === 'retired' || key.state === 'removed' || key.state === 'revoked')
      backend.destroy(key.ref)
}

type KeyRecordsOptions = {
  readonly folder: string
  readonly backend: Backend
  readonly clock: Clock
  /** When an admitted key may begin to sign; undefined for a key that is not admitted. */
  readonly signFromOf: (kid: string) => number | undefined
  /** Whether a key that is made now is admitted at once: the admission key is in this folder. */
  readonly canAdmit: () => boolean
}

/**
 * The reserve key that can follow. The first key of a purpose waits until verifiers had time to learn it; a purpose whose
 * signing key was revoked cannot wait.
 */
const findReserve = (
  records: readonly KeyRecord[],
  signFromOf: KeyRecordsOptions['signFromOf'],
  { purpose, activeFrom }: { readonly purpose: KeyPurpose; readonly activeFrom: number },
): KeyRecord | undefined => {
  const signedBefore = records.some((key) => key.purpose === purpose && key.state !== 'reserve')
  return records.find((key) => {
    const signFrom = signFromOf(key.kid)
    if (key.purpose !== purpose || key.state !== 'reserve' || signFrom === undefined) return false
    return signedBefore || signFrom <= activeFrom
  })
}

/** The state of every key, in `keyring.json`. */
export const openKeyRecords = ({ folder, backend, clock, ...admission }: KeyRecordsOptions) => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'keyring.json')
  const now = () => clock.now().getTime()
  let records: readonly KeyRecord[] = readRecords(path)

  /** The state first, then the private key: a crash in between leaves a key too many, never one too few. */
  const save = (next: readonly KeyRecord[]) => {
    const before = new Map(records.map((key) => [key.kid, key.state]))
    replaceFile(path, JSON.stringify(next, null, 1))
    records = [...next]
    destroyUnusableKeys(
      backend,
      next.filter((key) => before.get(key.kid) !== key.state),
    )
  }
  const generate = (purpose: KeyPurpose, activeFrom: number | 'reserve'): KeyRecord =>
    newKeyRecord({ purpose, generated: backend.generate(), activeFrom, now: now() })

  /** Makes the successor of a purpose: an admitted reserve key, else a new one if it can be admitted. */
  const add = (purpose: KeyPurpose, activeFrom: number): KeyRecord | undefined => {
    const reserve = findReserve(records, admission.signFromOf, { purpose, activeFrom })
    if (!reserve && !admission.canAdmit()) return undefined
    const key = reserve ? activateAt(reserve, activeFrom, now()) : generate(purpose, activeFrom)
    save([...records.filter(({ kid }) => kid !== key.kid), key])
    return key
  }
  /** The records, after every key is in the state of this time and the keys needed next are there. */
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
  destroyUnusableKeys(backend, records)
  return {
    current,
    add,
    /** Makes keys ahead, until every purpose has `count` in reserve. */
    fillReserve: (count: number): void => {
      for (const purpose of keyPurposes) {
        const has = records.filter((key) => key.purpose === purpose && key.state === 'reserve').length
        for (let n = has; n < count; n++) save([...records, generate(purpose, 'reserve')])
      }
    },
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
