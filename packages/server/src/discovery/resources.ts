import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { recordKinds } from './records.ts'
import { isRecord, keyHelp, type Json, type ToolCall } from './tools/tool.ts'

/** A page of the documentation, in Markdown. `path` is its address below /docs. */
export type DocsPage = { readonly path: string; readonly title: string; readonly text: string }

export const docsUri = (path: string): string => `pohf://docs/${path}`
const recordUri = /^pohf:\/\/([a-z]{1,20})\/([A-Za-z0-9_-]{1,64})$/
const pageSize = 25

/** One page of the documentation pages. A cursor is the place of the next page's first entry. */
export const listResources = (docs: readonly DocsPage[], cursor: string | undefined) => {
  const from = cursor === undefined ? 0 : Number(/^[1-9]\d{0,5}$/.exec(cursor)?.[0] ?? Number.NaN)
  if (Number.isNaN(from) || (from > 0 && from >= docs.length))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor')
  const next = from + pageSize
  return {
    resources: docs.slice(from, next).map(({ path, title }) => ({
      uri: docsUri(path),
      name: path,
      title,
      mimeType: 'text/markdown',
    })),
    ...(next < docs.length ? { nextCursor: String(next) } : {}),
  }
}

type ReadContext = Pick<ToolCall, 'ctx' | 'dispatch' | 'takesWallets'> & {
  readonly docs: readonly DocsPage[]
}

const readRecord = async (
  { ctx, dispatch, takesWallets }: ReadContext,
  uri: string,
  { kind, recordId }: { readonly kind: string; readonly recordId: string },
): Promise<Json> => {
  const found = Object.hasOwn(recordKinds, kind) ? recordKinds[kind] : undefined
  if (!found) throw new ResourceNotFoundError(uri)
  const { status, body } = await dispatch(found.id, { params: { [found.param]: recordId } })
  if (status === 404) throw new ResourceNotFoundError(uri)
  const answer = isRecord(body) ? body : {}
  const { BASE_URL } = ctx.config
  if (status < 400) return found.present(answer, BASE_URL, takesWallets)
  throw new ProtocolError(
    ProtocolErrorCode.InvalidRequest,
    String(answer['message']),
    status === 401 ? { ...answer, ...keyHelp(BASE_URL) } : answer,
  )
}

export const readResource = async (context: ReadContext, uri: string) => {
  const page = context.docs.find(({ path }) => docsUri(path) === uri)
  if (page) return { contents: [{ uri, mimeType: 'text/markdown', text: page.text }] }
  const [, kind, recordId] = recordUri.exec(uri) ?? []
  if (kind === undefined || recordId === undefined) throw new ResourceNotFoundError(uri)
  const record = await readRecord(context, uri, { kind, recordId })
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(record) }] }
}
