import { lifetimeDays } from '@pohf/protocol'
import { viem } from '../platform/net/viem.ts'
import { headerOf, onchainTyp } from './rules.ts'
import type { Signer } from './signer-client.ts'

const hexOf = (base64url: string) => `0x${Buffer.from(base64url, 'base64url').toString('hex')}` as const

/** The calls that the owner of a registry sends to it, for every published key except the test key. */
export const keysOnchain = async (signer: Signer) => {
  const { encodeFunctionData, parseAbi, toHex } = viem()
  const abi = parseAbi([
    'function addKey(bytes32 x, bytes32 y, uint40 notAfter, bytes header)',
    'function revokeKey(bytes32 keyId)',
  ])
  const published = new Map((await signer.publicKeys()).map((key) => [key.kid, key]))
  return {
    keys: (await signer.list()).flatMap((key) => {
      const jwk = published.get(key.kid)
      if (key.purpose !== 'onchain' || !jwk) return []
      const [keyId, x, y] = [hexOf(key.kid), hexOf(jwk.x), hexOf(jwk.y)]
      // The last token that the key signs can be bound until the token expires.
      const notAfter = Math.ceil(key.activeUntil / 1_000) + lifetimeDays.personhood * 86_400
      const header = toHex(headerOf(onchainTyp, key.kid))
      return {
        kid: key.kid,
        state: key.state,
        activeFrom: new Date(key.activeFrom).toISOString(),
        keyId,
        x,
        y,
        notAfter,
        header,
        addKey: encodeFunctionData({ abi, functionName: 'addKey', args: [x, y, notAfter, header] }),
        revokeKey: encodeFunctionData({ abi, functionName: 'revokeKey', args: [keyId] }),
      }
    }),
  }
}
