import { openKeys, type PublicJwk } from './keys.ts'
import type { Mintable } from './rules.ts'

/** What may be asked of the keys. */
export type Signer = {
  /** Signs checked claims, each by the key of its mode. */
  readonly sign: (batch: readonly Mintable[]) => Promise<string[]>
  /** Signs an epoch of the index. */
  readonly signEpoch: (epoch: Readonly<Record<string, unknown>>) => Promise<string>
  readonly publicKeys: () => PublicJwk[]
}

export const openSigner = (dataDir: string): Signer => {
  const keys = openKeys(dataDir)
  return {
    sign: async (batch) => batch.map((claims) => keys.signJws(claims.test ? 'test' : 'live', 'JWT', claims)),
    signEpoch: async (epoch) => keys.signJws('epoch', 'vhh-epoch+jwt', epoch),
    publicKeys: keys.publicKeys,
  }
}
