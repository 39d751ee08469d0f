import type { Hex } from 'viem'
import { z } from 'zod'
import type { Clock } from '../../platform/ops/clock.ts'
import { isRevert, RpcError, type Rpc } from './rpc.ts'
import {
  addressTopic,
  block,
  canceledTopic,
  hasTransferred,
  log,
  quantity,
  receipt,
  stateData,
  usedTopic,
  type Block,
  type Transfer,
  type Receipt,
} from './token.ts'

/** The price of a unit of gas. */
export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** How old the cached head may be, for fees and for the start of a search. */
const headAgeMsMax = 4_000
const toHex = (value: bigint): Hex => `0x${value.toString(16)}`

/** The transaction that paid, and its block. */
export type SettlementProof = { readonly transactionHash: Hex; readonly blockNumber: bigint }
/** What the token's logs say about an authorization. */
export type AuthorizationUse =
  | { readonly kind: 'paid'; readonly proof: SettlementProof }
  | { readonly kind: 'canceled'; readonly blockNumber: bigint }
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'none' }

/** The account that sends a transaction, as the contracts in it see it. */
export type GasSender = { readonly from: Hex; readonly gasMax: bigint; readonly fees: Fees | undefined }

/** Every response is validated; one of another form is a fault of the node. */
const callNode = async <T>(
  rpc: Rpc,
  schema: z.ZodType<T>,
  method: string,
  params: readonly unknown[],
): Promise<T> => {
  const result = schema.safeParse(await rpc(method, params))
  if (!result.success)
    throw new RpcError(`${method}: the response of the node has an unexpected form`, { cause: result.error })
  return result.data
}

/** The token's log that an authorization was used or cancelled since a block. */
const findUseLog = async (rpc: Rpc, { asset, payer, nonce }: Transfer, fromBlock: bigint) => {
  const filter = {
    address: asset,
    fromBlock: toHex(fromBlock),
    toBlock: 'latest',
    topics: [[usedTopic, canceledTopic], addressTopic(payer), nonce],
  }
  const logs = await callNode(rpc, z.array(log).max(100), 'eth_getLogs', [filter])
  return logs.find(({ removed }) => removed !== true)
}

/** What the code of a payer does in a call. */
const codeReadsOf = (rpc: Rpc, asset: Hex) => ({
  /** Whether an address has code: a contract, or an account that delegates to one (EIP-7702). */
  hasCode: async (address: Hex): Promise<boolean> => {
    const code = z.string().regex(/^0x([0-9a-f]{2})*$/i)
    return (await callNode(rpc, code, 'eth_getCode', [address, 'latest'])) !== '0x'
  },
  /** The gas that a call needs from this sender, or the contract's message where it fails. */
  estimate: async (
    data: Hex,
    { from, gasMax, fees }: GasSender,
  ): Promise<{ readonly gas: bigint } | { readonly reason: string }> => {
    const price = fees && {
      maxFeePerGas: toHex(fees.maxFeePerGas),
      maxPriorityFeePerGas: toHex(fees.maxPriorityFeePerGas),
    }
    const call = { from, to: asset, data, gas: toHex(gasMax), ...price }
    try {
      return { gas: await callNode(rpc, quantity, 'eth_estimateGas', [call, 'latest']) }
    } catch (error) {
      if (isRevert(error)) return { reason: error.message.slice(0, 200) }
      throw error
    }
  },
})

/** Reads of the chain. */
export const makeChain = (rpc: Rpc, clock: Clock, asset: Hex) => {
  let cachedHead: { readonly head: Block; readonly at: number } | undefined
  const blockAt = (tag: 'latest' | 'safe' | 'finalized') =>
    callNode(rpc, block, 'eth_getBlockByNumber', [tag, false])

  const findReceipt = async (hash: Hex): Promise<Receipt | undefined> =>
    (await callNode(rpc, receipt.nullable(), 'eth_getTransactionReceipt', [hash])) ?? undefined

  return {
    blockAt,
    findReceipt,
    /** The newest block, at most four seconds old. */
    head: async (): Promise<Block> => {
      const now = clock.now().getTime()
      if (cachedHead && Math.abs(now - cachedHead.at) < headAgeMsMax) return cachedHead.head
      const head = await blockAt('latest')
      cachedHead = { head, at: now }
      return head
    },
    /** Simulates a call: undefined where it would succeed, else the contract's message. */
    simulate: async (data: Hex): Promise<string | undefined> => {
      try {
        await rpc('eth_call', [{ to: asset, data }, 'latest'])
        return undefined
      } catch (error) {
        if (isRevert(error)) return error.message.slice(0, 200)
        throw error
      }
    },
    ...codeReadsOf(rpc, asset),
    /** Whether the authorization was used or cancelled, as of this block. */
    isSpent: async (payer: Hex, nonce: Hex, at: bigint | 'latest'): Promise<boolean> => {
      const word = z.string().regex(/^0x[0-9a-f]{64}$/)
      const result = await callNode(rpc, word, 'eth_call', [
        { to: asset, data: stateData(payer, nonce) },
        at === 'latest' ? at : toHex(at),
      ])
      return BigInt(result) !== 0n
    },
    /** Whether and by which transaction the authorization was used since a block, by the token's own log. */
    findUse: async (transfer: Transfer, fromBlock: bigint): Promise<AuthorizationUse> => {
      const found = await findUseLog(rpc, transfer, fromBlock)
      if (!found) return { kind: 'none' }
      if (found.topics[0] === canceledTopic) return { kind: 'canceled', blockNumber: found.blockNumber }
      const mined = await findReceipt(found.transactionHash)
      // The node has the log and not yet its transaction: the caller asks again later.
      if (!mined) return { kind: 'none' }
      return hasTransferred(mined, transfer)
        ? { kind: 'paid', proof: { transactionHash: mined.transactionHash, blockNumber: mined.blockNumber } }
        : { kind: 'elsewhere' }
    },
  }
}
export type Chain = ReturnType<typeof makeChain>
