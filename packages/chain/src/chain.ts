import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { encodeFunctionData, toHex, type Address, type Hex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { SilentDollar, TestDollar } from './contracts.ts'

const require = createRequire(import.meta.url)

/** The program itself and not its wrapper, so that ending it ends it; undefined where npm has none for this system. */
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

/** The words that every development chain derives its accounts from: these keys are known to everybody. */
const mnemonic = 'test test test test test test test test test test test junk'
export type Account = { readonly address: Address; readonly privateKey: Hex }
const accountOf = (addressIndex: number): Account => {
  const account = mnemonicToAccount(mnemonic, { addressIndex })
  const { privateKey } = account.getHdKey()
  if (!privateKey) throw new Error('an account has no key')
  return { address: account.address, privateKey: toHex(privateKey) }
}

type Options = {
  readonly chainId?: number
  /** Such as `prague`, which has no P-256 precompile; default: the newest that anvil knows. */
  readonly hardfork?: string
  readonly optimism?: boolean
  /** Seconds between blocks; default: a block for each transaction, at once. */
  readonly blockTime?: number
  /** A file that keeps the chain from one start to the next; default: it is forgotten. */
  readonly stateFile?: string
}

const argumentsOf = ({ chainId = 84_532, hardfork, optimism, blockTime, stateFile }: Options): string[] => [
  '--port',
  '0',
  '--chain-id',
  String(chainId),
  ...(hardfork === undefined ? [] : ['--hardfork', hardfork]),
  ...(optimism ? ['--optimism'] : []),
  ...(blockTime === undefined ? [] : ['--block-time', String(blockTime)]),
  // Every ten seconds besides: whoever kills it loses no more.
  ...(stateFile === undefined ? [] : ['--state', stateFile, '--state-interval', '10']),
]

const startDeadlineMs = 30_000
/** It chooses its port itself and says so in its last line. */
const urlOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(
      () => reject(new Error(`anvil did not listen within ${startDeadlineMs} ms`)),
      startDeadlineMs,
    )
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`anvil stopped at start: ${output.slice(-2_000)}`)))
    child.stderr?.on('data', (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-10_000)))
    child.stdout?.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.toString()}`.slice(-10_000)
      const address = /Listening on (127\.0\.0\.1:\d+)/.exec(output)?.[1]
      if (address === undefined) return
      clearTimeout(timer)
      resolve(`http://${address}`)
    })
  })

const buyerMicro = 1_000_000_000n
const balanceOf = (of: Address): Hex =>
  encodeFunctionData({ abi: TestDollar.abi, functionName: 'balanceOf', args: [of] })

const tokens = { honest: TestDollar.runtime, silent: SilentDollar.runtime }

/**
 * A real EVM on this machine, with a chain of its own: a dollar at the address of USDC, a funded buyer, accounts with gas.
 * Undefined where anvil is not built for this system. Whoever starts it stops it.
 */
export const startChain = async (options: Options = {}) => {
  const anvil = findAnvil()
  if (anvil === undefined) return undefined
  // In a process group of its own: Ctrl-C reaches whoever started it, who decides what ends first.
  const child = spawn(anvil, argumentsOf(options), { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async (): Promise<void> => {
    process.off('exit', kill)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.signalCode === null && child.kill()) await ended
  }
  const url = await urlOf(child)

  let lastId = 0
  const rpc = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }),
      signal: AbortSignal.timeout(30_000),
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  const owner = accountOf(0)
  const buyer = accountOf(1)
  /** Sends as the owner and waits for the block, which comes at once or with the block time. */
  const send = async (transaction: { readonly to?: Address; readonly data: Hex }) => {
    const hash = await rpc('eth_sendTransaction', [{ from: owner.address, gas: '0x989680', ...transaction }])
    const deadline = performance.now() + startDeadlineMs
    for (;;) {
      const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as {
        contractAddress: Address
        status: Hex
        gasUsed: Hex
      } | null
      if (receipt?.status === '0x0') throw new Error(`transaction ${String(hash)} was reverted`)
      if (receipt) return receipt
      if (performance.now() > deadline) throw new Error(`no block took transaction ${String(hash)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  /** Puts a token at the address of USDC. Balances and used authorizations stay: only the code changes. */
  const putToken = (kind: keyof typeof tokens) => rpc('anvil_setCode', [usdcAddress, tokens[kind]])
  const mint = async (to: Address, valueMicro: bigint): Promise<void> => {
    await send({
      to: usdcAddress,
      data: encodeFunctionData({ abi: TestDollar.abi, functionName: 'mint', args: [to, valueMicro] }),
    })
  }

  try {
    await putToken('honest')
    // A chain without a block may say that it is the year 1970, and an authorization is not yet valid then.
    await rpc('anvil_mine', ['0x1'])
    const held = BigInt(
      (await rpc('eth_call', [{ to: usdcAddress, data: balanceOf(buyer.address) }, 'latest'])) as Hex,
    )
    if (held < buyerMicro) await mint(buyer.address, buyerMicro - held)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url,
    chainId: options.chainId ?? 84_532,
    token: usdcAddress,
    /** Deploys and owns what is ours on the chain. */
    owner,
    /** Holds 1,000 test dollars. */
    buyer,
    /** They hold coins for gas, and nobody else uses them. */
    gasAccounts: [accountOf(2), accountOf(3), accountOf(4), accountOf(5)] as const,
    payTo: accountOf(6),
    rpc,
    send,
    /** Gives an account test dollars, in millionths. */
    mint,
    putToken,
    /** Puts a contract on the chain and says where, and what it cost. */
    deploy: async (bytecode: Hex, parameters: Hex = '0x') => {
      const { contractAddress, gasUsed } = await send({
        data: `${bytecode}${parameters.slice(2)}`,
      })
      return { address: contractAddress, gasUsed: Number(gasUsed) }
    },
    stop,
  }
}
export type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
