import type { Address, Hex } from 'viem'
import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { callNode, type NodeAnswer } from '../../platform/net/chain-node.ts'
import { viem } from '../../platform/net/viem.ts'
import { isContractRejection } from '../rules.ts'

type SignatureQuery = {
  readonly url: string
  readonly chainId: number
  readonly wallet: string
  readonly message: string
  readonly signature: string
}

/** For the whole batch of RPC calls. */
const timeoutMs = 2_000
const answerBytesMax = 262_144
/** EIP-1271 sets no limit; multi-signature wallets need several hundred thousand. */
const gasMax = 5_000_000
const eip1271MagicValue = '0x1626ba7e'

const unreachable = () => new Refusal('chain_unreachable', { headers: { 'retry-after': '5' } })

/** One request with three calls: chain id, code of the wallet, isValidSignature. */
const queryNode = (question: SignatureQuery): Promise<readonly NodeAnswer[]> => {
  const { encodeFunctionData, hashMessage, parseAbi } = viem()
  const to = question.wallet as Address
  const data = encodeFunctionData({
    abi: parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']),
    functionName: 'isValidSignature',
    args: [hashMessage(question.message), question.signature as Hex],
  })
  return callNode({ url: question.url, timeoutMs, answerBytesMax }, [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getCode', params: [to, 'latest'] },
    { method: 'eth_call', params: [{ to, data, gas: `0x${gasMax.toString(16)}` }, 'latest'] },
  ])
}

/**
 * Whether the wallet is a contract that confirms the signature (EIP-1271). False means that it rejects it, or that
 * there is no contract. An unclear answer is refused as unreachable: nothing is bound on a guess.
 */
export const isContractSignature = async (
  ctx: Pick<Ctx, 'log'>,
  question: SignatureQuery,
): Promise<boolean> => {
  if (!/^0x([0-9a-fA-F]{2})+$/.test(question.signature)) return false
  const { chainId } = question
  const answers = await queryNode(question).catch((error: unknown) => {
    // The URL may contain a provider's API key, so only the error name is logged.
    ctx.log.warn(
      { chainId, fault: error instanceof Error ? error.name : 'unknown' },
      'EVM RPC node not reachable or its answer not readable',
    )
    throw unreachable()
  })
  const [chain, code, call] = answers
  if (Number(chain?.result) !== chainId) {
    ctx.log.error(
      { setting: 'EVM_RPC_URLS', chainId, nodeChainId: chain?.result },
      'EVM RPC node serves another chain',
    )
    throw unreachable()
  }
  if (typeof code?.result !== 'string') throw unreachable()
  // A wallet without code belongs to a key, and that key did not sign.
  if (code.result === '0x') return false
  if (typeof call?.result === 'string') return call.result.toLowerCase() === eip1271MagicValue.padEnd(66, '0')
  if (call?.error && isContractRejection(call.error)) return false
  throw unreachable()
}
