import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { startChain } from '@pohf/chain'
import { startNodeProxy } from './node-proxy.ts'
import { startHarness, type Answered, type Harness } from './harness.ts'
import { decode, encode, makePayer, type Entry } from './payer.ts'

type Payer = ReturnType<typeof makePayer>
type Authorization = ReturnType<Payer['authorize']>
type Change = Parameters<Payer['authorize']>[2]

/** A file with the keys of gas accounts, as an operator keeps it; gone when the tests are over. */
export const gasKeysFile = (keys: readonly string[]): string => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-gas-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'gas.keys')
  writeFileSync(path, `# test accounts\n${keys.join('\n')}\n`, { mode: 0o600 })
  return path
}

/** A chain with a dollar and a server that settles on it; undefined where no chain runs on this system. */
export const startShop = async (environment: Record<string, string> = {}) => {
  const chain = await startChain()
  if (!chain) return undefined
  after(() => chain.stop())
  const node = await startNodeProxy(chain.url)
  after(node.stop)
  const settings = {
    X402_CHAIN_RPC: node.url,
    X402_PAY_TO: chain.payTo.address,
    X402_GAS_KEYS_FILE: gasKeysFile(chain.gasAccounts.map(({ privateKey }) => privateKey)),
    ...environment,
  }
  const harness = await startHarness(settings)
  return { chain, node, harness, settings, ...makeBuyers(chain, harness) }
}

type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
type Offer = { readonly v1: Entry; readonly v2: Entry; readonly purchaseId: string }

const buyPath = (workflowId: string) => `/api/agent/tasks/${workflowId}/buy`
/** One word of calldata. */
const word = (value: string | bigint) =>
  (typeof value === 'bigint' ? value.toString(16) : value.replace(/^0x/, '').toLowerCase()).padStart(64, '0')

/** Buyers as stock clients are: they read a challenge, sign, and call again. */
export const makeBuyers = (chain: Chain, harness: Pick<Harness, 'call' | 'ctx'>) => {
  const seconds = () => Math.floor(harness.ctx.clock.now().getTime() / 1_000)
  const ask = async (workflowId = 'wf_test_ok'): Promise<Offer> => {
    const answer = await harness.call('GET', buyPath(workflowId))
    if (answer.status !== 402) throw new Error(`no challenge: ${answer.status} ${answer.text}`)
    return {
      v1: answer.json.accepts[0],
      v2: decode(answer.headers['payment-required']).accepts[0],
      purchaseId: answer.json.purchase_id,
    }
  }
  /** A wallet with so many millionths. */
  const fund = async (micro = 1_000_000n): Promise<Payer> => {
    const payer = makePayer()
    await chain.mint(payer.account.address, micro)
    return payer
  }
  const signV1 = async (payer: Payer, entry: Entry, change: Change = {}) => {
    const authorization = payer.authorize(entry, seconds(), change)
    const signature = await payer.sign(entry, authorization)
    return { x402Version: 1, scheme: 'exact', network: entry.network, payload: { signature, authorization } }
  }
  const signV2 = async (payer: Payer, entry: Entry, change: Change = {}) => {
    const authorization = payer.authorize(entry, seconds(), change)
    const signature = await payer.sign(entry, authorization)
    return { x402Version: 2, payload: { signature, authorization }, accepted: entry, extensions: {} }
  }
  const pay = (headers: Record<string, string>, workflowId = 'wf_test_ok'): Promise<Answered> =>
    harness.call('GET', buyPath(workflowId), { headers })
  /** Buys as a version 2 client does. */
  const buy = async (payer: Payer, change: Change = {}) => {
    const { v2, purchaseId } = await ask()
    const payment = await signV2(payer, v2, change)
    const headers = { 'payment-signature': encode(payment) }
    return { answer: await pay(headers), headers, payment, purchaseId }
  }
  const balanceOf = async (address: string): Promise<bigint> =>
    BigInt(
      String(
        await chain.rpc('eth_call', [
          { to: chain.token, data: `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}` },
          'latest',
        ]),
      ),
    )
  /** Sends an authorization as anybody can who has seen it. */
  const submitAsStranger = (payment: { payload: { signature: string; authorization: Authorization } }) => {
    const { authorization: one, signature } = payment.payload
    const v = signature.slice(130)
    const data = `0xe3ee160e${[one.from, one.to].map(word).join('')}${[
      one.value,
      one.validAfter,
      one.validBefore,
    ]
      .map((text) => word(BigInt(text)))
      .join('')}${word(one.nonce)}${word(v)}${signature.slice(2, 130)}`
    return chain.rpc('eth_sendTransaction', [
      { from: chain.owner.address, to: chain.token, gas: '0x40000', data },
    ])
  }
  /** Lets so much time pass on the chain, and so many blocks that what was before them stays. */
  const ageChain = async (byMs: number) => {
    await chain.rpc('evm_increaseTime', [Math.floor(byMs / 1_000)])
    await chain.rpc('anvil_mine', ['0x50'])
  }
  return { ask, fund, signV1, signV2, pay, buy, balanceOf, submitAsStranger, ageChain }
}
