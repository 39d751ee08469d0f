import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after } from 'node:test'
import { encodeAbiParameters, type Hex } from 'viem'
import { freePort } from '../dev/cluster.ts'
import { until } from './waiting.ts'

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

/** A real EVM on this machine, with one chain of its own; undefined where it cannot run. */
export const startChain = async (chainId: number) => {
  const anvil = findAnvil()
  if (anvil === undefined) return undefined
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(anvil, ['--port', String(port), '--chain-id', String(chainId), '--silent'], {
    stdio: 'ignore',
  })
  after(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.kill()) await ended
  })
  const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
    if (error) throw new Error(JSON.stringify(error))
    return result
  }
  await until('the chain', () => call('eth_chainId', []).catch(() => undefined))
  const [from] = (await call('eth_accounts', [])) as string[]
  return {
    url,
    /** Puts a contract on the chain and says where. */
    deploy: async (bytecode: string, owner?: Hex): Promise<Hex> => {
      const parameters =
        owner === undefined ? '' : encodeAbiParameters([{ type: 'address' }], [owner]).slice(2)
      const hash = await call('eth_sendTransaction', [
        { from, data: `0x${bytecode}${parameters}`, gas: '0x4c4b40' },
      ])
      const receipt = await until(
        'the receipt',
        async () =>
          ((await call('eth_getTransactionReceipt', [hash])) as { contractAddress: Hex } | null) ?? undefined,
      )
      return receipt.contractAddress
    },
  }
}

type Compiled = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>
  >
}

/** Compiles one Solidity text and gives the bytecode of each of its contracts. */
export const compile = (source: string): Readonly<Record<string, string>> => {
  const solc = require('solc') as { compile: (input: string) => string }
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { 'wallets.sol': { content: source } },
        settings: { outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
      }),
    ),
  ) as Compiled
  const faults = (output.errors ?? []).filter(({ severity }) => severity === 'error')
  if (faults.length > 0) throw new Error(faults.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return Object.fromEntries(
    Object.entries(output.contracts['wallets.sol'] ?? {}).map(([name, { evm }]) => [
      name,
      evm.bytecode.object,
    ]),
  )
}
