import { startChain, TestDollar } from '@pohf/chain'
import { encodeFunctionData, keccak256, parseSignature, toHex, type Hex } from 'viem'
import { setTimeout } from 'node:timers/promises'
import { compileWallets } from '../../packages/server/test/fixtures/payments/contract-wallets.ts'
import { encode, makePayer, type PaymentOption } from '../../packages/server/test/fixtures/payments/payer.ts'

type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
type Payer = ReturnType<typeof makePayer>
/** One payment as a version 2 client sends it, and what it takes to send or cancel it in its stead. */
export type SignedPayment = {
  readonly nonce: Hex
  readonly header: string
  readonly payer: Payer
  readonly authorization: ReturnType<Payer['authorize']>
  readonly signature: Hex
  readonly entry: PaymentOption
}

/**
 * What contract wallets do. They say yes to every signature; then one pays, one burns all gas wherever a transaction has a
 * sender, and two change while our transaction is on its way: to burn all gas, or to revert.
 */
export const contractScenarios = [
  'contract wallet pays',
  'contract wallet burns gas',
  'contract wallet changes to burning gas',
  'contract wallet changes to reverting',
] as const
export type ContractScenario = (typeof contractScenarios)[number]

const send = (chain: Chain, data: Hex) =>
  // Not the owner: it deploys wallets at the same time.
  chain.rpc('eth_sendTransaction', [{ from: chain.payTo.address, to: chain.token, gas: '0x40000', data }])

/** The call of the token that an authorization pays with. */
export const transferData = (one: SignedPayment['authorization'], signature: Hex): Hex => {
  const { r, s, yParity } = parseSignature(signature)
  const { from, to, nonce } = one
  const [value, after, before] = [BigInt(one.value), BigInt(one.validAfter), BigInt(one.validBefore)]
  return encodeFunctionData({
    abi: TestDollar.abi,
    functionName: 'transferWithAuthorization',
    args: [from, to, value, after, before, nonce, 27 + yParity, r, s],
  })
}

/** Submits an authorization as a third party can that has seen it. */
export const submitAsThirdParty = (chain: Chain, { authorization, signature }: SignedPayment) =>
  send(chain, transferData(authorization, signature))

/** The payer cancels its authorization. */
export const cancelAuthorization = async (chain: Chain, { payer, nonce, entry }: SignedPayment) => {
  const signature = await payer.account.signTypedData({
    domain: {
      name: entry.extra.name,
      version: entry.extra.version,
      chainId: chain.chainId,
      verifyingContract: chain.token,
    },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.account.address, nonce },
  })
  const { r, s, yParity } = parseSignature(signature)
  return send(
    chain,
    encodeFunctionData({
      abi: TestDollar.abi,
      functionName: 'cancelAuthorization',
      args: [payer.account.address, nonce, 27 + yParity, r, s],
    }),
  )
}

/** The payment terms of a challenge; retries while the server restarts. */
const fetchChallenge = async (url: string): Promise<PaymentOption> => {
  for (let tries = 0; tries < 600; tries++) {
    const header = await fetch(url, { signal: AbortSignal.timeout(10_000) })
      .then((response) => response.headers.get('payment-required'))
      .catch(() => null)
    if (header !== null)
      return (JSON.parse(Buffer.from(header, 'base64').toString()) as { accepts: [PaymentOption] }).accepts[0]
    await setTimeout(200)
  }
  throw new Error(`no payment challenge from ${url} after 600 attempts`)
}

/** How long an authorization is valid. As long as a client is patient: a start of the api takes seconds on a busy machine. */
export const validSeconds = 600

/** Wallets with money that sign what a challenge asks for. */
export const makeWallets = async (chain: Chain, count: number) => {
  const payers = Array.from({ length: count }, () => makePayer())
  for (const { account } of payers) await chain.mint(account.address, 1_000_000_000n)
  // Compiling takes two seconds, and most runs have no such wallet.
  let wallets: ReturnType<typeof compileWallets> | undefined
  return {
    /** A payment of a new contract wallet with money. The wallet accepts every signature. */
    signAsContract: async (url: string, scenario: ContractScenario): Promise<SignedPayment> => {
      wallets ??= compileWallets()
      const { burnsInBlocks, switchable } = wallets
      const code = scenario === 'contract wallet burns gas' ? burnsInBlocks : switchable
      const { address } = await chain.deploy(code.bytecode)
      await chain.mint(address, 1_000_000n)
      const entry = await fetchChallenge(url)
      const payer = makePayer()
      const authorization = payer.authorize(entry, Math.floor(Date.now() / 1_000), {
        from: address,
        validBefore: String(Math.floor(Date.now() / 1_000) + 300),
      })
      const signature: Hex = `0x${'22'.repeat(70)}`
      const payload = { signature, authorization }
      const header = encode({ x402Version: 2, payload, accepted: entry, extensions: {} })
      return { nonce: authorization.nonce, header, payer, authorization, signature, entry }
    },
    /** `derived`: with the nonce of the purchase id, as our SDK signs. Other clients take a random one. */
    sign: async (
      url: string,
      index: number,
      nonce: 'random' | 'derived' = 'random',
    ): Promise<SignedPayment> => {
      const payer = payers[index % payers.length]
      if (!payer) throw new Error(`no wallet for purchase ${index}: ${payers.length} wallets exist`)
      const entry = await fetchChallenge(url)
      const authorization = payer.authorize(entry, Math.floor(Date.now() / 1_000), {
        validBefore: String(Math.floor(Date.now() / 1_000) + validSeconds),
        ...(nonce === 'derived' ? { nonce: keccak256(toHex(`pohf-x402:${entry.extra.purchaseId}`)) } : {}),
      })
      const signature = await payer.sign(entry, authorization)
      const payment = {
        x402Version: 2,
        payload: { signature, authorization },
        accepted: entry,
        extensions: {},
      }
      return { nonce: authorization.nonce, header: encode(payment), payer, authorization, signature, entry }
    },
  }
}
