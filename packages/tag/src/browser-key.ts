import { browserProofText } from '@pohf/protocol/telemetry'
import { makeKey, signBytes, type Key } from './chain.ts'
import type { BrowserProof } from './session.ts'

/** A key that was not used for this long is deleted. The service forgets it after the same time. */
const keepMs = 30 * 86_400_000

type Entry = { readonly key: Key; readonly at: number }

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error))
  })

/** Private windows and full disks refuse to store: then there is no key. */
const ignoringFaults = async <T>(act: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await act()
  } catch {
    return undefined
  }
}

/** The keys of this page: read from the storage, or made for a check and not stored yet. */
const inMemory = new Map<string, Key>()

/**
 * The key that this browser keeps for one site, in the site's own storage, so that the next check can be shorter. A new one is
 * made for a check, because the service must know it from the check that was passed; it is stored only afterwards.
 */
export const browserKeyFor = (service: string, site: string) => {
  const name = `pohf ${service} ${site}`
  const inStore = async <T>(
    mode: IDBTransactionMode,
    act: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> => {
    const opening = indexedDB.open(name)
    opening.onupgradeneeded = () =>
      mode === 'readonly' ? opening.transaction?.abort() : opening.result.createObjectStore(name)
    const database = await settled(opening)
    try {
      return await settled(act(database.transaction(name, mode).objectStore(name)))
    } finally {
      database.close()
    }
  }
  const forget = () => {
    inMemory.delete(name)
    return ignoringFaults(() => settled(indexedDB.deleteDatabase(name)))
  }
  const readKey = () =>
    ignoringFaults(async () => {
      const { key, at } = await inStore<Entry>('readonly', (store) => store.get(name))
      if (Date.now() - at < keepMs) return key
      await forget()
      return undefined
    })
  const takeKey = async (): Promise<Key> => {
    const key = inMemory.get(name) ?? (await readKey()) ?? (await makeKey())
    inMemory.set(name, key)
    return key
  }
  return {
    readKey,
    forget,
    sign: async (jkt: string): Promise<BrowserProof> => {
      const key = await takeKey()
      const bytes = new TextEncoder().encode(browserProofText(site, jkt))
      return { key: key.jwk, proof: await signBytes(key, bytes) }
    },
    /** After a passed check: stores the key, or counts its 30 days from now. True if it was stored. */
    keep: () =>
      ignoringFaults(async () => {
        const entry: Entry = { key: await takeKey(), at: Date.now() }
        await inStore('readwrite', (store) => store.put(entry, name))
        return true
      }),
  }
}
export type BrowserKey = ReturnType<typeof browserKeyFor>
