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
  receipt,
  stateData,
  usedTopic,
  type Block,
  type Transfer,
  type Receipt,
} from './token.ts'

/** How long the last block that was seen is good enough for fees and for where a look-up begins. */
const headAgeMsMax = 4_000
const toHex = (value: bigint): Hex => `0x${value.toString(16)}`

/** Where a payment is in the chain. */
export type SettlementProof = { readonly transactionHash: Hex; readonly blockNumber: bigint }
/** What the token has written about an authorization. */
export type AuthorizationUse =
  | { readonly kind: 'paid'; readonly proof: SettlementProof }
  | { readonly kind: 'canceled'; readonly blockNumber: bigint }
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'none' }

/** What can be asked of the chain. Every answer is checked; one that makes no sense is a fault of the node. */
export const makeChain = (rpc: Rpc, clock: Clock, asset: Hex) => {
  let cachedHead: { readonly head: Block; readonly at: number } | undefined
  const callNode = async <T>(
    schema: z.ZodType<T>,
    method: string,
    params: readonly unknown[],
  ): Promise<T> => {
    const result = schema.safeParse(await rpc(method, params))
    if (!result.success) throw new RpcError(`the node answered ${method} with something else`)
    return result.data
  }
  const blockAt = (tag: 'latest' | 'safe' | 'finalized') =>
    callNode(block, 'eth_getBlockByNumber', [tag, false])

  const findReceipt = async (hash: Hex): Promise<Receipt | undefined> =>
    (await callNode(receipt.nullable(), 'eth_getTransactionReceipt', [hash])) ?? undefined

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
    /** Tries a call without sending it: undefined where it would work, else what the contract said. */
    simulate: async (data: Hex): Promise<string | undefined> => {
      try {
        await rpc('eth_call', [{ to: asset, data }, 'latest'])
        return undefined
      } catch (error) {
        if (isRevert(error)) return error.message.slice(0, 200)
        throw error
      }
    },
    /** Whether the authorization was used or cancelled, as of this block. */
    isSpent: async (payer: Hex, nonce: Hex, at: bigint): Promise<boolean> => {
      const word = z.string().regex(/^0x[0-9a-f]{64}$/)
      const result = await callNode(word, 'eth_call', [
        { to: asset, data: stateData(payer, nonce) },
        toHex(at),
      ])
      return BigInt(result) !== 0n
    },
    /** What became of the authorization in anybody's transaction since a block, by the token's own log. */
    findUse: async (paid: Transfer, fromBlock: bigint): Promise<AuthorizationUse> => {
      const logs = await callNode(z.array(log).max(100), 'eth_getLogs', [
        {
          address: asset,
          fromBlock: toHex(fromBlock),
          toBlock: 'latest',
          topics: [[usedTopic, canceledTopic], addressTopic(paid.payer), paid.nonce],
        },
      ])
      const [found] = logs.filter(({ removed }) => removed !== true)
      if (!found) return { kind: 'none' }
      if (found.topics[0] === canceledTopic) return { kind: 'canceled', blockNumber: found.blockNumber }
      const its = await findReceipt(found.transactionHash)
      // The node knows the log and not its transaction: it is behind itself. Ask again later.
      if (!its) return { kind: 'none' }
      return hasTransferred(its, paid)
        ? { kind: 'paid', proof: { transactionHash: its.transactionHash, blockNumber: its.blockNumber } }
        : { kind: 'elsewhere' }
    },
  }
}
export type Chain = ReturnType<typeof makeChain>
