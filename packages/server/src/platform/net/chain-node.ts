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
  // A caller would read an empty object as a call that succeeds.
  .refine(({ result, error }) => result !== undefined || error, { error: 'neither a result nor an error' })
const batchOf = (count: number) => z.array(z.looseObject({ id: z.int() })).length(count)

/** The result, or the node's own error. */
export type NodeAnswer = z.infer<typeof nodeAnswer>

const readAnswers = (body: string, count: number): readonly NodeAnswer[] => {
  const parsed: unknown = JSON.parse(body)
  if (count === 1) return [nodeAnswer.parse(parsed)]
  // A node may answer the calls of a batch in any order.
  const answers = new Map(
    batchOf(count)
      .parse(parsed)
      .map((answer) => [answer.id, answer]),
  )
  return Array.from({ length: count }, (_, id) => nodeAnswer.parse(answers.get(id)))
}

/**
 * Sends calls to a JSON-RPC node, several as one batch. Rejects where the node was not reached or its answer is no JSON-RPC; no
 * error contains the URL or the calls. Results are as the node sent them.
 */
export const callNode = async (
  { url, timeoutMs, answerBytesMax }: NodeRequest,
  calls: readonly NodeCall[],
): Promise<readonly NodeAnswer[]> => {
  const requests = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
  const { status, complete, body } = await send({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(requests.length === 1 ? requests[0] : requests),
    timeoutMs,
    responseBytesMax: answerBytesMax,
    trust: 'operator',
    // Reads change nothing, and a transaction counts once however often it is sent.
    idempotent: true,
  })
  if (!complete) throw new Error(`the answer of the node was cut, at ${answerBytesMax} bytes at most`)
  try {
    const answers = readAnswers(body, calls.length)
    // The page of a proxy may look like a result; an error of the node may have any status.
    if ((status < 200 || status > 299) && answers.some(({ error }) => !error)) throw new Error('a result')
    return answers
  } catch {
    throw new Error(`the node answered ${status} and no JSON-RPC`)
  }
}
