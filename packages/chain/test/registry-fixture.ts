import assert from 'node:assert/strict'
import { deployRegistry, type Chain, type Registry } from '@pohf/chain'
import type { Address, Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { makeIssuer, word, type Claims } from './issuer.ts'

export const day = 86_400
export const keyDelaySeconds = 2 * day
export type RegistryFixture = {
  readonly chain: Chain
  readonly registry: Registry
  readonly issuer: ReturnType<typeof makeIssuer>
  /** The time of the chain. */
  readonly now: () => Promise<number>
}
/** A new registry that trusts one key. */
export const makeRegistryFixture = async (chain: Chain, code?: Hex): Promise<RegistryFixture> => {
  const registry = await deployRegistry(chain, { keyDelaySeconds, code })
  const issuer = makeIssuer()
  const now = async () => {
    const block = (await chain.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: Hex }
    return Number(block.timestamp)
  }
  const fixture = { chain, registry, issuer, now }
  await addUsableKey(fixture, issuer, (await now()) + 400 * day)
  return fixture
}
export const advanceTime = async ({ chain }: RegistryFixture, seconds: number): Promise<void> => {
  await chain.rpc('evm_increaseTime', [seconds])
  await chain.rpc('anvil_mine', ['0x1'])
}
/** Adds a key and waits until it may bind. */
export const addUsableKey = async (
  fixture: RegistryFixture,
  { jwk }: RegistryFixture['issuer'],
  notAfter: number,
): Promise<void> => {
  assertBound(await fixture.registry.addKey(jwk, notAfter))
  await advanceTime(fixture, keyDelaySeconds)
}
let nullifiers = 0
export const newNullifier = (): Hex => word(BigInt(++nullifiers))
export const newWallet = (): Address => privateKeyToAccount(generatePrivateKey()).address
export const claimsFor = async (
  fixture: RegistryFixture,
  wallet: Address,
  change: Partial<Claims> = {},
): Promise<Claims> => {
  const iat = (await fixture.now()) - 1_000
  return {
    wallet: wallet.toLowerCase(),
    nul: newNullifier(),
    iat,
    exp: iat + 90 * day,
    registry: fixture.registry.address.toLowerCase(),
    chain: fixture.chain.chainId,
    ...change,
  }
}
/** A bind that succeeded returns the gas used. */
export const assertBound = (outcome: number | string): void =>
  assert.equal(typeof outcome, 'number', String(outcome))
