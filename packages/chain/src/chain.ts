import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { encodeFunctionData, http, toHex, type Address, type Hex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { SilentDollar, TestDollar } from './contracts.ts'

const require = createRequire(import.meta.url)

/** The program itself and not its wrapper, so that a signal reaches it; undefined where npm has none for this system. */
const findAnvil = (): string | undefined => {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    const manifest = require.resolve(`@foundry-rs/anvil-${process.platform}-${cpu}/package.json`)
    return join(dirname(manifest), 'bin/anvil')
  } catch {
    return undefined
  }
}

/** Where USDC is on Base Sepolia: clients refuse another address on that chain. */
export const usdcAddress: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

/** The mnemonic of every development chain: its keys are public. */
const mnemonic = 'test test test test test test test test test test test junk'
export type Account = { readonly address: Address; readonly privateKey: Hex }
const accountOf = (addressIndex: number): Account => {
  const account = mnemonicToAccount(mnemonic, { addressIndex })
  const { privateKey } = account.getHdKey()
  if (!privateKey)
    throw new Error(`account ${account.address} of the mnemonic has no private key at index ${addressIndex}`)
  return { address: account.address, privateKey: toHex(privateKey) }
}

type Options = {
  readonly chainId?: number
  /** Such as `prague`, which has no P-256 precompile; default: the newest that anvil knows. */
  readonly hardfork?: string
  readonly optimism?: boolean
  /** Default: a free one. */
  readonly port?: number
  /** Seconds between blocks; default: a block for each transaction, at once. */
  readonly blockTime?: number
  /**
   * Seconds between further blocks, besides one for each transaction. Without them the time of the chain stands still
   * while nobody sends a transaction, and new authorizations are not valid yet.
   */
  readonly idleBlockTime?: number
  /** A file that keeps the chain from one start to the next; default: the chain is lost when it stops. */
  readonly stateFile?: string
}

const argumentsOf = ({
  port = 0,
  chainId = 84_532,
  hardfork,
  optimism,
  stateFile,
  ...times
}: Options): string[] => [
  '--port',
  String(port),
  '--chain-id',
  String(chainId),
  ...(hardfork === undefined ? [] : ['--hardfork', hardfork]),
  ...(optimism ? ['--optimism'] : []),
  ...(times.blockTime === undefined ? [] : ['--block-time', String(times.blockTime)]),
  ...(times.idleBlockTime === undefined
    ? []
    : ['--block-time', String(times.idleBlockTime), '--mixed-mining']),
  // The state is also written every ten seconds, so that a kill loses no more.
  ...(stateFile === undefined ? [] : ['--state', stateFile, '--state-interval', '10']),
]

/** anvil prints its port in its last line; it chooses one where none is named. It is waited for as long as it lives. */
const urlOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ''
    child.once('error', reject)
    child.once('exit', (exitCode) =>
      reject(new Error(`anvil exited with code ${exitCode} before it listened: ${output.slice(-2_000)}`)),
    )
    child.stderr?.on('data', (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-10_000)))
    child.stdout?.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.toString()}`.slice(-10_000)
      const address = /Listening on (127\.0\.0\.1:\d+)/.exec(output)?.[1]
      if (address !== undefined) resolve(`http://${address}`)
    })
  })

const buyerMicro = 1_000_000_000n
const balanceOf = (of: Address): Hex =>
  encodeFunctionData({ abi: TestDollar.abi, functionName: 'balanceOf', args: [of] })

const tokens = { honest: TestDollar.runtime, silent: SilentDollar.runtime }

type Rpc = (method: string, params?: readonly unknown[]) => Promise<unknown>
const makeRpc = (url: string): Rpc => {
  const { request } = http(url, { timeout: 30_000, retryCount: 0 })({})
  return (method, params = []) => request({ method, params })
}

type Transaction = { readonly to?: Address; readonly data: Hex }
type MinedTransaction = {
  readonly transactionHash: Hex
  readonly contractAddress: Address
  readonly status: Hex
  readonly gasUsed: Hex
}

const minedDeadlineMs = 30_000
/** Sends and waits for the block, which comes at once or with the block time. */
const sendFrom = async (rpc: Rpc, from: Address, transaction: Transaction): Promise<MinedTransaction> => {
  const hash = await rpc('eth_sendTransaction', [{ from, gas: '0x989680', ...transaction }])
  const deadline = performance.now() + minedDeadlineMs
  for (;;) {
    const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as MinedTransaction | null
    if (receipt?.status === '0x0') throw new Error(`transaction ${String(hash)} from ${from} was reverted`)
    if (receipt) return receipt
    if (performance.now() > deadline)
      throw new Error(`transaction ${String(hash)} from ${from} not mined within ${minedDeadlineMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The operations on a running chain: a dollar at the address of USDC, and its accounts. */
const operationsOf = (rpc: Rpc) => {
  const owner = accountOf(0)
  const buyer = accountOf(1)
  // One after the other: anvil gives two transactions of one account that arrive together the same nonce.
  let last: Promise<unknown> = Promise.resolve()
  const send = (transaction: Transaction): Promise<MinedTransaction> => {
    const sent = last.then(() => sendFrom(rpc, owner.address, transaction))
    last = sent.catch(() => undefined)
    return sent
  }
  return {
    token: usdcAddress,
    /** Deploys the contracts and owns them. */
    owner,
    /** Holds 1,000 test dollars. */
    buyer,
    /** They hold coins for gas and are used for nothing else. */
    gasAccounts: [accountOf(2), accountOf(3), accountOf(4), accountOf(5)] as const,
    payTo: accountOf(6),
    rpc,
    /** Sends as the owner. */
    send,
    /** Mints test dollars, in millionths, for an account. */
    mint: async (to: Address, valueMicro: bigint): Promise<void> => {
      await send({
        to: usdcAddress,
        data: encodeFunctionData({ abi: TestDollar.abi, functionName: 'mint', args: [to, valueMicro] }),
      })
    },
    /** Transfers test dollars, in millionths, from an account of this chain; a block has the transaction when this ends. */
    transfer: (from: Address, to: Address, valueMicro: bigint): Promise<MinedTransaction> =>
      sendFrom(rpc, from, {
        to: usdcAddress,
        data: encodeFunctionData({ abi: TestDollar.abi, functionName: 'transfer', args: [to, valueMicro] }),
      }),
    /** Sets the code at the address of USDC. Balances and used authorizations stay. */
    putToken: (kind: keyof typeof tokens) => rpc('anvil_setCode', [usdcAddress, tokens[kind]]),
    /** Deploys a contract and returns its address and the gas used. */
    deploy: async (bytecode: Hex, parameters: Hex = '0x') => {
      const { contractAddress, gasUsed } = await send({
        data: `${bytecode}${parameters.slice(2)}`,
      })
      return { address: contractAddress, gasUsed: Number(gasUsed) }
    },
  }
}

const fundBuyer = async ({ rpc, buyer, mint, putToken }: ReturnType<typeof operationsOf>): Promise<void> => {
  await putToken('honest')
  // A chain without a block may report the year 1970, when an authorization is not yet valid.
  await rpc('anvil_mine', ['0x1'])
  const balance = BigInt(
    (await rpc('eth_call', [{ to: usdcAddress, data: balanceOf(buyer.address) }, 'latest'])) as Hex,
  )
  if (balance < buyerMicro) await mint(buyer.address, buyerMicro - balance)
}

/**
 * Starts a real EVM on this machine: a dollar at the address of USDC, a funded buyer, accounts with gas. Undefined where
 * anvil is not built for this system. The caller stops it.
 */
export const startChain = async (options: Options = {}) => {
  const anvil = findAnvil()
  if (anvil === undefined) return undefined
  // A separate process group: Ctrl-C reaches only the parent, which decides what ends first.
  const child = spawn(anvil, argumentsOf(options), { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async (): Promise<void> => {
    process.off('exit', kill)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.signalCode === null && child.kill()) await ended
  }
  const url = await urlOf(child)
  const operations = operationsOf(makeRpc(url))
  try {
    await fundBuyer(operations)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, chainId: options.chainId ?? 84_532, ...operations, stop }
}
export type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
