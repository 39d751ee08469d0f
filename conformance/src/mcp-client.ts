import { Failure, at, filledListAt, isRecord } from './expect.ts'
import { expectStatus, type HttpResponse } from './http.ts'
import type { RunContext } from './run-context.ts'

type Caller = { readonly key?: string }

/** One JSON-RPC call of the machine-tool surface, without any opening. */
export const rpc = (
  world: RunContext,
  path: string,
  method: string,
  { params = {}, key }: Caller & { readonly params?: Readonly<Record<string, unknown>> } = {},
): Promise<HttpResponse> =>
  world.http.post(path, { jsonrpc: '2.0', id: 1, method, params }, key === undefined ? {} : { key })

export const listTools = async (world: RunContext, path: string): Promise<readonly unknown[]> => {
  const answer = await rpc(world, path, 'tools/list')
  expectStatus(answer, 200)
  return filledListAt(answer.body, 'result.tools')
}

const parse = (text: unknown): unknown => {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

type ToolOutput = { readonly output: unknown; readonly isError: boolean }

/** Calls a tool and reads its JSON, wherever the result holds it. */
export const callTool = async (
  world: RunContext,
  path: string,
  name: string,
  { input = {}, ...caller }: Caller & { readonly input?: Readonly<Record<string, unknown>> } = {},
): Promise<ToolOutput> => {
  const answer = await rpc(world, path, 'tools/call', { ...caller, params: { name, arguments: input } })
  const result = at(answer.body, 'result')
  if (answer.status !== 200 || !isRecord(result))
    throw new Failure(`a result of ${name}`, `${answer.status} ${answer.text}`)
  const output = result['structuredContent'] ?? parse(at(result, 'content.0.text'))
  return { output, isError: result['isError'] === true }
}
