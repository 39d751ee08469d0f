import { z } from 'zod'
import { send } from './outbound.ts'

export type NodeCall = { readonly method: string; readonly params: readonly unknown[] }
type NodeRequest = {
  /** From our own settings. It may contain a key and is in no error. */
  readonly url: string
  /** For all calls together. */
  readonly timeoutMs: number
  readonly answerBytesMax: number
}

const nodeAnswer = z
  .object({
    result: z.unknown().optional(),
    error: z
      .looseObject({ code: z.number(), message: z.string().max(100_000), data: z.unknown().optional() })
      .nullish(),
  })
  // viem reads an empty body as an empty object, and a caller would read it as a call that succeeds.
  .refine(({ result, error }) => result !== undefined || error, { error: 'neither a result nor an error' })
/** The result, or the node's own error. */
export type NodeAnswer = z.infer<typeof nodeAnswer>

let requests = 0

/**
 * Sends calls to a JSON-RPC node, several as one batch. Rejects where the node was not reached or its answer is no JSON-RPC,
 * with the error of the connection. Results are as the node sent them: viem's actions check none, and a block without a
 * time would count as one of the future.
 */
export const callNode = async (
  { url, timeoutMs, answerBytesMax }: NodeRequest,
  calls: readonly NodeCall[],
): Promise<readonly NodeAnswer[]> => {
  // Loaded with the first call: it takes a tenth of a second.
  const { http } = await import('viem')
  // viem writes the URL into its errors, and puts all calls of one moment to one URL into one batch.
  const { request } = http(`http://node-${(requests += 1)}`, {
    raw: true,
    batch: calls.length > 1,
    retryCount: 0,
    // `send` has these limits.
    timeout: 0,
    maxResponseBodySize: false,
    fetchFn: async (_, init) => {
      const { status, complete, body } = await send({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof init?.body === 'string' ? init.body : '',
        timeoutMs,
        responseBytesMax: answerBytesMax,
        trust: 'operator',
        // Reads change nothing, and a transaction counts once however often it is sent.
        idempotent: true,
      })
      if (!complete) throw new Error(`the answer of the node was cut, at ${answerBytesMax} bytes at most`)
      return new Response(body, { status })
    },
  })({})
  const answers = await Promise.all(calls.map(({ method, params }) => request({ method, params }))).catch(
    (error: unknown) => {
      // viem's own errors contain the request, and with it signatures.
      throw error instanceof Error && error.cause instanceof Error
        ? error.cause
        : new Error('the node answered no JSON-RPC')
    },
  )
  return z.array(nodeAnswer).parse(answers)
}
