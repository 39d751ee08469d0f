import { randomBytes } from 'node:crypto'
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts'
import type { Hex } from 'viem'
import { Failure, at } from './expect.ts'
import { uniqueText, mintMember, testAgent, type Agent, type MintedCredential } from './fixtures.ts'
import { oncePerRun, type RunContext } from './run-context.ts'

export const newWallet = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())
export const walletOf = (privateKey: Hex): PrivateKeyAccount => privateKeyToAccount(privateKey)

export type Challenge = { readonly nonce: string; readonly message: string }

export const walletChallenge = async (world: RunContext, agent: Agent): Promise<Challenge> => {
  const answer = await world.http.post('/api/agents/wallet/challenge', undefined, { key: agent.apiKey })
  const [nonce, message] = [at(answer.body, 'nonce'), at(answer.body, 'message')]
  if (answer.status !== 200 || typeof nonce !== 'string' || typeof message !== 'string')
    throw new Failure('nonce and message', `${answer.status} ${answer.text}`)
  return { nonce, message }
}

export type Binding = {
  readonly wallet: string
  readonly walletNonce: string
  readonly walletSig: string
}

/** The three wallet fields of a personhood call: the challenge's message signed as personal_sign does. */
export const signChallenge = async (
  account: PrivateKeyAccount,
  challenge: Challenge,
  message = challenge.message,
): Promise<Binding> => ({
  wallet: account.address,
  walletNonce: challenge.nonce,
  walletSig: await account.signMessage({ message }),
})

export type BoundMember = {
  readonly memberId: string
  readonly binding: Binding
  readonly minted: MintedCredential
}

export const bindWallet = async (world: RunContext, agent: Agent): Promise<BoundMember> => {
  const memberId = uniqueText('member')
  const binding = await signChallenge(newWallet(), await walletChallenge(world, agent))
  return { memberId, binding, minted: await mintMember(world, agent, { memberId, ...binding }) }
}

export const sharedWallet = oncePerRun(async (world) => bindWallet(world, await testAgent(world)))

/** One entry of `accepts[]`, as far as a payer needs it. */
export type PaymentEntry = {
  readonly network: string
  readonly payTo: Hex
  readonly asset: Hex
  readonly amount: string
  readonly seconds: number
  readonly name: string
  readonly version: string
}

const chainIds: Readonly<Record<string, number>> = { base: 8_453, 'base-sepolia': 84_532 }
const testChainIds: readonly number[] = [84_532, 31_337]

const chainIdOf = (network: string): number =>
  chainIds[network] ?? Number(/^eip155:(\d+)$/.exec(network)?.[1] ?? 0)

/** Money of a main network is never spent by a test suite. */
export const isTestNetwork = (network: string): boolean => testChainIds.includes(chainIdOf(network))

const authorizationTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The `X-PAYMENT` value: an EIP-3009 authorization, signed. With `from` of somebody else it is a forgery. */
export const signPayment = async (
  account: PrivateKeyAccount,
  entry: PaymentEntry,
  from: Hex = account.address,
): Promise<string> => {
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + entry.seconds)
  const nonce: Hex = `0x${randomBytes(32).toString('hex')}`
  const signature = await account.signTypedData({
    domain: {
      name: entry.name,
      version: entry.version,
      chainId: chainIdOf(entry.network),
      verifyingContract: entry.asset,
    },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: { from, to: entry.payTo, value: BigInt(entry.amount), validAfter: 0n, validBefore, nonce },
  })
  const authorization = {
    from,
    to: entry.payTo,
    value: entry.amount,
    validAfter: '0',
    validBefore: validBefore.toString(),
    nonce,
  }
  const payment = {
    x402Version: 1,
    scheme: 'exact',
    network: entry.network,
    payload: { signature, authorization },
  }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}
