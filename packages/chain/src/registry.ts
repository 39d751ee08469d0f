import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  http,
  toHex,
  type Address,
  type Hex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Account, Chain } from './chain.ts'
import { HumanRegistry } from './contracts.ts'

/** The on-chain proof that `verify-personhood` returns with a credential that names a wallet. */
export type Onchain = { readonly payload: string; readonly r: Hex; readonly s: Hex; readonly keyId: Hex }
/** A key of the issuer's JWKS. */
export type Jwk = { readonly kid: string; readonly x: string; readonly y: string }

export const tokenType = 'pohf-onchain+jwt'
const hexOf = (base64url: string): Hex => toHex(Buffer.from(base64url, 'base64url'))
/** The first part of every token of a key: three members, in this order. */
export const headerOf = (kid: string): string =>
  Buffer.from(JSON.stringify({ alg: 'ES256', typ: tokenType, kid })).toString('base64url')

/** The name of the contract's own error; any other error is rethrown. */
const refusalOf = (error: unknown): string => {
  const cause =
    error instanceof BaseError
      ? error.walk((each) => each instanceof ContractFunctionRevertedError)
      : undefined
  const name = cause instanceof ContractFunctionRevertedError ? cause.data?.errorName : undefined
  if (name === undefined) throw error
  return name
}

/** Calls a registry on a local chain, as its owner or as any account. */
export const openRegistry = (chain: Chain, address: Address) => {
  const transport = http(chain.url)
  const reader = createPublicClient({ transport, pollingInterval: 20 })
  const at = { address, abi: HumanRegistry.abi } as const
  const [anyone] = chain.gasAccounts

  /** Sends one call and returns the gas used, or the name of the error. */
  const send = async (
    functionName: 'addKey' | 'bind' | 'revokeKey' | 'revoke' | 'transferOwnership' | 'acceptOwnership',
    args: readonly unknown[],
    by: Account,
  ): Promise<number | string> => {
    const account = privateKeyToAccount(by.privateKey)
    // The compiler cannot infer six signatures at once; the tests cover each of them.
    const blockTag = 'pending' as const
    const call = { ...at, functionName, args, account, blockTag } as Parameters<
      typeof reader.simulateContract
    >[0]
    try {
      await reader.simulateContract(call)
    } catch (error) {
      return refusalOf(error)
    }
    const wallet = createWalletClient({ transport, account })
    const hash = await wallet.writeContract({ ...call, account, chain: null })
    const receipt = await reader.waitForTransactionReceipt({ hash })
    if (receipt.status !== 'success')
      throw new Error(
        `transaction ${hash} calling ${functionName} was reverted in block ${receipt.blockNumber}`,
      )
    return Number(receipt.gasUsed)
  }
  return {
    address,
    addKey: ({ kid, x, y }: Jwk, notAfter: number, by = chain.owner) =>
      send('addKey', [hexOf(x), hexOf(y), notAfter, toHex(headerOf(kid))], by),
    bind: ({ keyId, payload, r, s }: Onchain, by: Account = anyone) =>
      send('bind', [keyId, toHex(payload), r, s], by),
    revokeKey: (kid: string, by = chain.owner) => send('revokeKey', [hexOf(kid)], by),
    revoke: (nullifier: Hex, by = chain.owner) => send('revoke', [nullifier], by),
    transferOwnership: (to: Address, by = chain.owner) => send('transferOwnership', [to], by),
    acceptOwnership: (by: Account) => send('acceptOwnership', [], by),
    isVerifiedHuman: (wallet: Address) =>
      reader.readContract({ ...at, functionName: 'isVerifiedHuman', args: [wallet] }),
    humanOf: (wallet: Address) => reader.readContract({ ...at, functionName: 'humanOf', args: [wallet] }),
    numberOf: (kid: string) => reader.readContract({ ...at, functionName: 'numberOf', args: [hexOf(kid)] }),
    keyDelay: () => reader.readContract({ ...at, functionName: 'keyDelay' }),
    owner: () => reader.readContract({ ...at, functionName: 'owner' }),
  }
}
export type Registry = ReturnType<typeof openRegistry>

type RegistryOptions = {
  readonly keyDelaySeconds: number
  /** Tests pass modified code, to prove that a guard is needed. */
  readonly code?: Hex | undefined
}
/** Deploys a registry on a local chain. */
export const deployRegistry = async (chain: Chain, { keyDelaySeconds, code }: RegistryOptions) => {
  const parameters = encodeAbiParameters(
    [{ type: 'address' }, { type: 'uint40' }],
    [chain.owner.address, keyDelaySeconds],
  )
  const { address, gasUsed } = await chain.deploy(code ?? HumanRegistry.bytecode, parameters)
  return { ...openRegistry(chain, address), deployGas: gasUsed }
}
