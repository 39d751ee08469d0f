// Measures what the registry costs on three kinds of chain and writes the table into docs/guides/onchain.md. npx node tools/bench/chain-gas.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { compile, deployRegistry, startChain, type Chain } from '../../packages/chain/src/index.ts'
import { makeIssuer } from '../../packages/chain/test/issuer.ts'

const page = new URL('../../docs/guides/onchain.md', import.meta.url).pathname
const day = 86_400
/** Signatures differ from each other in zero bytes and in the work of the Solidity fallback. */
const rounds = 20
const forks = [
  { name: 'newest fork (EIP-7951)', options: {} },
  { name: 'OP stack (RIP-7212)', options: { optimism: true } },
  { name: 'prague (Solidity)', options: { hardfork: 'prague' } },
]

/** A contract that only asks, and one that does not: the difference is the price of asking. */
const gates = compile(`// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;
interface Registry { function isVerifiedHuman(address wallet) external view returns (bool); }
contract Gate { function enter(Registry registry, address wallet) external view { require(registry.isVerifiedHuman(wallet)); } }
contract Open { function enter(address registry, address wallet) external view { require(registry != wallet); } }`)
/** The selector is that of enter(address,address). */
const enter = (registry: string, wallet: string) =>
  `0x5d4b8378${[registry, wallet].map((address) => address.slice(2).toLowerCase().padStart(64, '0')).join('')}`

const askGas = async (chain: Chain, registry: string, wallet: string): Promise<number> => {
  const cost = async (name: string) => {
    const { address } = await chain.deploy(gates[name]?.bytecode ?? '0x')
    const call = { to: address, from: chain.buyer.address, data: enter(registry, wallet) }
    const hash = await chain.rpc('eth_sendTransaction', [{ ...call, gas: '0x30d40' }])
    await chain.rpc('anvil_mine', ['0x1'])
    const receipt = (await chain.rpc('eth_getTransactionReceipt', [hash])) as {
      status: string
      gasUsed: string
    }
    if (receipt.status !== '0x1')
      throw new Error(`transaction ${String(hash)} calling contract ${name} was reverted`)
    return Number(receipt.gasUsed)
  }
  return (await cost('Gate')) - (await cost('Open'))
}

const gasOf = (outcome: number | string): number => {
  if (typeof outcome === 'string') throw new Error(`the registry refused a transaction: ${outcome}`)
  return outcome
}
const random = (bytes: number) =>
  `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex')}` as const
type GasMeasurements = Record<string, number[]>
const measure = async (options: object): Promise<GasMeasurements> => {
  const chain = await startChain(options)
  if (!chain) throw new Error(`no anvil package for ${process.platform}-${process.arch}`)
  try {
    const registry = await deployRegistry(chain, { keyDelaySeconds: 0 })
    const issuer = makeIssuer()
    const block = (await chain.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
    const now = Number(block.timestamp)
    const found: GasMeasurements = { deploy: [registry.deployGas] }
    const note = (name: string, gas: number) => (found[name] ??= []).push(gas)
    note('addKey', gasOf(await registry.addKey(issuer.jwk, now + 400 * day)))
    let last: `0x${string}` = '0x'
    for (let round = 0; round < rounds; round++) {
      const [first, second] = [random(20), random(20)]
      const claims = {
        wallet: first,
        nul: random(32),
        iat: now - 100,
        exp: now + 90 * day,
        registry: registry.address.toLowerCase(),
        chain: chain.chainId,
      }
      note('bind, first', gasOf(await registry.bind(issuer.sign(claims))))
      note('bind, renew', gasOf(await registry.bind(issuer.sign({ ...claims, iat: now - 99 }))))
      note(
        'bind, move',
        gasOf(await registry.bind(issuer.sign({ ...claims, wallet: second, iat: now - 98 }))),
      )
      last = second
      if (round > 0) continue
      note('isVerifiedHuman, asked by a contract', await askGas(chain, registry.address, second))
      note('revoke', gasOf(await registry.revoke(claims.nul)))
    }
    if (!(await registry.isVerifiedHuman(last)))
      throw new Error(`wallet ${last} is not bound after ${rounds} rounds`)
    note('revokeKey', gasOf(await registry.revokeKey(issuer.jwk.kid)))
    return found
  } finally {
    await chain.stop()
  }
}

const thousands = (gas: number) => `${(gas / 1_000).toFixed(1)}k`
const shown = (values: readonly number[]): string => {
  const [low, high] = [thousands(Math.min(...values)), thousands(Math.max(...values))]
  return low === high ? low : `${low} to ${high}`
}
const columns: GasMeasurements[] = []
for (const { options } of forks) columns.push(await measure(options))
const rows = Object.keys(columns[0] ?? {}).map(
  (name) => `| ${name} | ${columns.map((column) => shown(column[name] ?? [])).join(' | ')} |`,
)
const table = `| Gas | ${forks.map(({ name }) => name).join(' | ')} |\n| --- | ${forks.map(() => '---').join(' | ')} |\n${rows.join('\n')}`
const begin = '<!-- gas: written by tools/bench/chain-gas.ts -->'
const end = '<!-- end of gas -->'
const text = readFileSync(page, 'utf8')
const [head, rest] = text.split(begin)
const [, tail] = rest?.split(end) ?? []
if (head === undefined || tail === undefined) throw new Error(`${page} has no place for the table`)
writeFileSync(page, `${head}${begin}\n\n${table}\n\n${end}${tail}`)
spawnSync('prettier', ['--write', page])
console.log(table)
