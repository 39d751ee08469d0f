import { z } from 'zod'
import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { callNode } from '../../platform/net/chain-node.ts'
import { notSettled, type PaymentSettlement } from './payment-settled.ts'

type Token = { readonly symbol: string; readonly address: string; readonly decimals: number }
type TransferQuery = {
  readonly chainId: number
  readonly hash: string
  readonly log?: number
  readonly payee?: string | undefined
  /** The wallet that was proven to belong to the payer; undefined where none was. */
  readonly payer?: string | undefined
  /** The tokens accepted on this chain. */
  readonly tokens: readonly Token[]
}

/** For the whole batch of RPC calls. */
const timeoutMs = 3_000
const answerBytesMax = 2_097_152
/** keccak-256 of Transfer(address,address,uint256). */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const quantity = z.string().regex(/^0x[0-9a-f]{1,64}$/i)
const bytes32 = z.string().regex(/^0x[0-9a-f]{64}$/i)
const logEntry = z.looseObject({
  address: z.string().regex(/^0x[0-9a-f]{40}$/i),
  topics: z.array(bytes32).max(4),
  data: z.string().max(answerBytesMax),
  logIndex: quantity,
  removed: z.boolean().optional(),
})
const receiptSchema = z.looseObject({
  status: quantity,
  blockNumber: quantity,
  transactionHash: bytes32,
  logs: z.array(logEntry).max(10_000),
})
type Receipt = z.infer<typeof receiptSchema>
/** One request with four calls: chain id, receipt, transaction (to tell pending from unknown), newest block. */
const queryNode = async (url: string, chainId: number, hash: string) => {
  const answers = await callNode({ url, timeoutMs, answerBytesMax }, [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getTransactionReceipt', params: [hash] },
    { method: 'eth_getTransactionByHash', params: [hash] },
    { method: 'eth_blockNumber', params: [] },
  ])
  const [chain, receipt, transaction, head] = answers.map(({ result, error }, at) => {
    if (!error) return result
    throw new Error(
      `look-up of transaction ${hash} at the node of chain ${chainId}: expected a result of call ${at}, found an error`,
      { cause: error },
    )
  })
  return {
    chainId: Number(quantity.parse(chain)),
    receipt: receipt === null ? undefined : receiptSchema.parse(receipt),
    waits: transaction !== null,
    head: BigInt(quantity.parse(head)),
  }
}

const unreachable = () => new Refusal('chain_unreachable', { headers: { 'retry-after': '5' } })

type Transfer = {
  readonly log: number
  readonly payer: string
  readonly payee: string
  readonly amount: bigint
  readonly token: Token
}

/** The address in a topic, which is padded to 32 bytes. */
const topicAddress = (topic: string): string => `0x${topic.slice(-40).toLowerCase()}`

/** Transfers of accepted tokens, in log order. */
const transfersOf = (receipt: Receipt, tokens: readonly Token[]): Transfer[] =>
  receipt.logs.flatMap((log) => {
    const token = tokens.find(({ address }) => address === log.address.toLowerCase())
    const [topic, from, to] = log.topics
    if (!token || log.removed || log.topics.length !== 3 || topic?.toLowerCase() !== transferTopic) return []
    if (
      from === undefined ||
      to === undefined ||
      !/^0x[0-9a-f]{64}$/i.test(log.data) ||
      BigInt(log.data) === 0n
    )
      return []
    const [payer, payee] = [topicAddress(from), topicAddress(to)]
    return [{ log: Number(log.logIndex), payer, payee, amount: BigInt(log.data), token }]
  })

/** Selects the one transfer that the query names; refuses when there is none or more than one. */
const selectTransfer = (receipt: Receipt, question: TransferQuery): Transfer => {
  const all = transfersOf(receipt, question.tokens)
  if (all.length === 0)
    throw notSettled('wrong_token', 'it transfers no token that is accepted on this chain')
  const { log, payee } = question
  const named = log === undefined ? all : all.filter((one) => one.log === log)
  if (named.length === 0) throw notSettled('wrong_log', 'that log is no transfer of an accepted token')
  const paid = payee === undefined ? named : named.filter((one) => one.payee === payee.toLowerCase())
  const [first, ...more] = paid
  if (!first) throw notSettled('wrong_payee', 'it has no transfer to the recipient')
  if (more.length > 0)
    throw new Refusal('validation_failed', {
      details: [
        {
          path: 'body.paymentRef',
          code: 'log_needed',
          message: `the transaction has ${paid.length} transfers: choose one by its log index, /log:${first.log} to /log:${paid.at(-1)?.log ?? first.log}`,
        },
      ],
    })
  return first
}

/** Formats an amount of the token's smallest unit as an exact decimal number. */
export const formatAmount = (amount: bigint, decimals: number): string => {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const whole = digits.slice(0, digits.length - decimals)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** Looks up a transfer on its chain. An unclear answer is refused as unreachable, never taken as verified. */
export const lookUpTransfer = async (
  ctx: Pick<Ctx, 'log' | 'config'>,
  url: string,
  question: TransferQuery,
): Promise<PaymentSettlement> => {
  const { chainId, hash } = question
  const found = await queryNode(url, chainId, hash).catch((error: unknown) => {
    // The URL may contain a provider's API key, so only the error name is logged.
    ctx.log.warn(
      { chainId, fault: error instanceof Error ? error.name : 'unknown' },
      'EVM RPC node not reachable',
    )
    throw unreachable()
  })
  if (found.chainId !== chainId) {
    ctx.log.error({ chainId }, 'EVM_RPC_URLS names a node of another chain for this chain id')
    throw unreachable()
  }
  const { receipt, head } = found
  if (!receipt || receipt.transactionHash.toLowerCase() !== hash)
    throw found.waits
      ? notSettled('pending', 'no block has it yet')
      : notSettled('unknown', 'the chain has no such transaction')
  if (BigInt(receipt.status) !== 1n) throw notSettled('reverted', 'the transaction failed')
  const needed = ctx.config.BINDING_CONFIRMATIONS
  // A lagging node of the provider's pool may report an older head block than the receipt's.
  const confirmations = head - BigInt(receipt.blockNumber) + 1n
  if (confirmations < BigInt(needed))
    throw notSettled(
      'unconfirmed',
      `${needed} blocks must have it, and ${confirmations > 0n ? confirmations : 0n} have`,
    )
  const { log, payer, payee, amount, token } = selectTransfer(receipt, question)
  if (question.payer !== undefined && question.payer.toLowerCase() !== payer)
    throw notSettled('wrong_payer', 'the payer is not the proven wallet')
  return {
    identity: `eip155:${chainId}/tx:${hash}/log:${log}`,
    amount: formatAmount(amount, token.decimals),
    currency: token.symbol.toUpperCase(),
    payee,
    isPayerProven: question.payer !== undefined,
  }
}
