import { isInitializeRequest } from '@modelcontextprotocol/server'
import { docsUri, type DocsPage } from './resources.ts'
import { supportedVersions } from './rules.ts'
import { isRecord, type Json } from './tools/tool.ts'

// Answers that depend on the surface and the version alone. The SDK makes each once, for an id of our own, and every
// later request gets the same bytes with its id in that place. So an answer is that of the SDK, byte by byte.

/** One JSON-RPC request, as the shim has checked it. */
export type McpRequest = {
  readonly jsonrpc: '2.0'
  readonly id: string | number
  readonly method: string
  readonly params?: Json | undefined
}

const constantMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** A constant answer before and after the id of its request. */
type ConstantAnswer = { readonly head: string; readonly tail: string }

/** Clients differ in `_meta`, so there can be any number of keys; the oldest is dropped first. */
const answersMax = 256
const keyCharactersMax = 2_048

type Pages = { readonly docs: readonly DocsPage[] }

/** Whether the text of the request decides its answer: a record of an agent can change, and belongs to its caller. */
const isConstant = ({ docs }: Pages, { method, params }: McpRequest): boolean =>
  constantMethods.has(method) &&
  (method !== 'resources/read' || docs.some(({ path }) => docsUri(path) === params?.['uri']))

/** The part of a handshake that decides its answer. A handshake that the SDK refuses is kept whole. */
const handshakeOf = (message: McpRequest): Json | undefined => {
  const version = message.params?.['protocolVersion']
  if (!isInitializeRequest(message) || isRecord(message.params?.['_meta'])) return message.params
  return { protocolVersion: supportedVersions.find((known) => known === version) ?? null }
}

/** The key of a request: all that its answer depends on. Undefined where its answer is not constant. */
const keyOf = (
  pages: Pages,
  message: McpRequest,
  headers: Readonly<Record<string, string>>,
): string | undefined => {
  if (!isConstant(pages, message)) return undefined
  const params = message.method === 'initialize' ? handshakeOf(message) : message.params
  const key = JSON.stringify([message.method, params, headers])
  return key.length <= keyCharactersMax ? key : undefined
}

/** The id for which the SDK makes an answer. A request that contains it, so that it stands twice in its answer, is not kept. */
const idMark = 'the id of the request'

type SdkRequest = { readonly message: McpRequest; readonly headers: Record<string, string> }
type AskSdk = (request: SdkRequest) => Promise<{ readonly status: number; readonly text: string }>

/** The constant answers of one surface. */
export const makeConstantAnswers = (pages: Pages) => {
  const known = new Map<string, ConstantAnswer>()

  const remember = (key: string, text: string): ConstantAnswer | undefined => {
    const [head, tail, ...others] = text.split(JSON.stringify(idMark))
    if (head === undefined || tail === undefined || others.length > 0) return undefined
    const answer = { head, tail }
    const [oldest] = known.keys()
    if (known.size >= answersMax && oldest !== undefined) known.delete(oldest)
    known.set(key, answer)
    return answer
  }

  /** The answer as JSON; undefined where the SDK has to be asked for each request. */
  return async ({ message, headers }: SdkRequest, askSdk: AskSdk): Promise<string | undefined> => {
    const key = keyOf(pages, message, headers)
    if (key === undefined) return undefined
    let answer = known.get(key)
    if (!answer) {
      const { status, text } = await askSdk({ message: { ...message, id: idMark }, headers })
      // A refusal may repeat what the caller sent, and is for this caller alone.
      if (status !== 200 || 'error' in (JSON.parse(text) as object)) return undefined
      answer = remember(key, text)
    }
    return answer && `${answer.head}${JSON.stringify(message.id)}${answer.tail}`
  }
}
export type ConstantAnswers = ReturnType<typeof makeConstantAnswers>
