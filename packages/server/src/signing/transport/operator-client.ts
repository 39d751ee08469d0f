import type { KeyPurpose } from '../rules.ts'
import { openConnection } from './signer-connection.ts'

const timeoutMs = 10_000

/** The operators' socket of a signer. Each request opens a connection of its own and closes it. */
export const connectOperatorSocket = (path: string) => {
  const request = async (message: {
    readonly op: string
    readonly [field: string]: unknown
  }): Promise<unknown> => {
    const connection = openConnection({ path }, timeoutMs)
    try {
      return await connection.request(message)
    } finally {
      connection.close()
    }
  }
  return {
    request,
    rotate: async (purpose: KeyPurpose) => (await request({ op: 'rotate', purpose })) as string,
    /** False where there is no such key, or it is revoked already. */
    revoke: async (kid: string, reason: string) => (await request({ op: 'revoke', kid, reason })) as boolean,
  }
}
