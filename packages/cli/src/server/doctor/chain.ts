import type { Client } from 'pg'
import { createPublicClient, http, parseAbiItem, toEventSelector, type Hex } from 'viem'
import { networkOf, type Config } from '@pohf/server/doctor'
import { ok, problem, type Finding } from './finding.ts'

/** On Base: over an hour. */
const blocksBack = 2_000n
/** Transactions that are read at most, the newest. */
const receiptsMax = 20
const timeoutMs = 5_000
const transferEvent = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
const usedTopic = toEventSelector('AuthorizationUsed(address,bytes32)')

/**
 * Recent payments by authorization to our recipient that this database does not know. Two deployments that share a recipient
 * could both accept one payment: neither can see that the other reserves something for it.
 */
const countForeignPayments = async (config: Config, url: string, database: Client): Promise<number> => {
  const { chainId, asset, payTo } = networkOf(config)
  const chain = createPublicClient({ transport: http(url, { timeout: timeoutMs, retryCount: 0 }) })
  const latest = await chain.getBlockNumber()
  const logs = await chain.getLogs({
    address: asset as Hex,
    event: transferEvent,
    args: { to: payTo as Hex },
    fromBlock: latest > blocksBack ? latest - blocksBack : 0n,
    toBlock: 'latest',
  })
  const hashes = [...new Set(logs.map(({ transactionHash }) => transactionHash))].slice(-receiptsMax)
  const receipts = await Promise.all(hashes.map((hash) => chain.getTransactionReceipt({ hash })))
  const used = receipts.flatMap((receipt) =>
    receipt.logs.flatMap(({ topics: [event, payer, nonce] }) =>
      event === usedTopic && payer && nonce ? [{ payer: `0x${payer.slice(26)}`, nonce }] : [],
    ),
  )
  const { rowCount } = await database.query(
    `select from x402_payments where chain_id = $1 and asset = $2
       and (payer, nonce) in (select * from unnest($3::text[], $4::text[]))`,
    [chainId, asset.toLowerCase(), used.map(({ payer }) => payer), used.map(({ nonce }) => nonce)],
  )
  return used.length - (rowCount ?? 0)
}

/** Whether another deployment uses the recipient of our payments; undefined where nothing is paid on a chain. */
export const checkRecipient = async (config: Config, database: Client): Promise<Finding | undefined> => {
  const { X402_CHAIN_RPC: url, X402_PAY_TO: payTo } = config
  if (url === undefined || payTo === undefined) return undefined
  const foreign = await countForeignPayments(config, url, database).catch((error: unknown) => error)
  if (typeof foreign !== 'number')
    return problem(
      'recipient',
      'the node of X402_CHAIN_RPC does not answer',
      'Start it, or correct X402_CHAIN_RPC',
    )
  return foreign === 0
    ? ok('recipient', `${payTo} receives payments. Use one recipient for one deployment only`)
    : problem(
        'recipient',
        `${foreign} recent payments to ${payTo} are not in this database. Another deployment uses this recipient, and both could accept one payment`,
        'Give each deployment an X402_PAY_TO of its own',
      )
}

const checkChain = async (id: number, url: string): Promise<Finding> => {
  const chain = createPublicClient({ transport: http(url, { timeout: timeoutMs, retryCount: 0 }) })
  const found = await chain.getChainId().catch(() => undefined)
  if (found === id) return ok('chain', `the node of chain ${id} answers`)
  return found === undefined
    ? problem(
        'chain',
        `the node of chain ${id} in EVM_RPC_URLS does not answer`,
        'Start it, or correct its address',
      )
    : problem(
        'chain',
        `the node of chain ${id} in EVM_RPC_URLS belongs to chain ${found}`,
        'Give each chain the address of its own node',
      )
}

/** Whether each chain of EVM_RPC_URLS answers as that chain. */
export const checkChains = (config: Config): Promise<Finding[]> =>
  Promise.all([...config.EVM_RPC_URLS].map(([id, url]) => checkChain(id, url)))
