import type { Signer } from './signer-client.ts'

const iso = (ms: number) => new Date(ms).toISOString()

export const keysList = async (signer: Signer) => ({
  keys: (await signer.list()).map((key) => ({
    kid: key.kid,
    purpose: key.purpose,
    state: key.state,
    signer: key.signer,
    admitted: key.admitted,
    createdAt: iso(key.createdAt),
    activeFrom: iso(key.activeFrom),
    activeUntil: iso(key.activeUntil),
    removeAt: iso(key.removeAt),
  })),
})
