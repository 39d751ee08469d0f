import type { Ctx } from '../../platform/ops/context.ts'
import { callNode } from '../../platform/net/chain-node.ts'

const answerBytesMax = 1_048_576
/** Many concurrent calls on a busy machine queue up; that is no outage. */
const timeoutMsDefault = 10_000

/**
 * A failed call. `nodeError` is the node's own response to the call; without it the connection failed, which says
 * nothing about the payment.
 */
export class RpcError extends Error {
  readonly nodeError: { readonly code: number } | undefined
  constructor(message: string, options: ErrorOptions & { readonly nodeError?: RpcError['nodeError'] } = {}) {
    super(message, options)
    this.nodeError = options.nodeError
  }
}

export type Rpc = (method: string, params: readonly unknown[], timeoutMs?: number) => Promise<unknown>

/** Calls the node of the configured chain. Its URL may contain a key and is never logged. */
export const makeRpc =
  (ctx: Pick<Ctx, 'log'>, url: string): Rpc =>
  async (method, params, timeoutMs = timeoutMsDefault) => {
    const node = { url, timeoutMs, answerBytesMax }
    const [answer] = await callNode(node, [{ method, params }]).catch((error: unknown) => {
      const fault = error instanceof Error ? error.name : 'unknown'
      ctx.log.warn({ method, fault }, 'payment chain node unreachable')
      throw new RpcError(`${method}: the node was not reached, or answered no JSON-RPC: ${fault}`, {
        cause: error,
      })
    })
    if (answer?.error) throw new RpcError(answer.error.message, { nodeError: answer.error })
    return answer?.result
  }

/** Whether the contract itself reverted. A fault of the node must never be taken for that. */
export const isRevert = (error: unknown): error is RpcError =>
  error instanceof RpcError &&
  error.nodeError !== undefined &&
  (error.nodeError.code === 3 || /revert|invalid opcode|out of gas|gas required exceeds/i.test(error.message))
