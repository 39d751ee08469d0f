import { z } from 'zod'
import type { Ctx } from '../../platform/ops/context.ts'
import { send } from '../../platform/net/outbound.ts'

const answerBytesMax = 1_048_576
/** Many concurrent calls on a busy machine queue up; that is no outage. */
const timeoutMsDefault = 10_000

const responseSchema = z.looseObject({
  result: z.unknown().optional(),
  error: z
    .looseObject({ code: z.number(), message: z.string().max(100_000), data: z.unknown().optional() })
    .optional(),
})

/**
 * A failed call. `nodeError` is the node's own response to the call; without it the connection failed, which says
 * nothing about the payment.
 */
export class RpcError extends Error {
  readonly nodeError: { readonly code: number; readonly data: unknown } | undefined
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
    const answer = await send({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      timeoutMs,
      responseBytesMax: answerBytesMax,
      trust: 'operator',
      // Reads change nothing, and a transaction counts once however often it is sent.
      idempotent: true,
    }).catch((error: unknown) => {
      const fault = error instanceof Error ? error.name : 'unknown'
      ctx.log.warn({ method, fault }, 'payment chain node unreachable')
      throw new RpcError(`${method}: the node was not reached: ${fault}`, { cause: error })
    })
    let body: z.infer<typeof responseSchema>
    try {
      body = responseSchema.parse(JSON.parse(answer.body))
    } catch (cause) {
      throw new RpcError(`${method}: the node answered ${answer.status} and no JSON-RPC`, { cause })
    }
    const { error } = body
    if (error) throw new RpcError(error.message, { nodeError: { code: error.code, data: error.data } })
    return body.result
  }

/** Whether the contract itself reverted. A fault of the node must never be taken for that. */
export const isRevert = (error: unknown): error is RpcError =>
  error instanceof RpcError &&
  error.nodeError !== undefined &&
  (error.nodeError.code === 3 || /revert|invalid opcode|out of gas|gas required exceeds/i.test(error.message))
