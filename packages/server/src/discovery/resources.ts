import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { isRecord, keyHelp, type Json, type ToolCall } from './tools/tool.ts'

/** A page of the documentation, in Markdown. `path` is its address below /docs. */
export type DocsPage = { readonly path: string; readonly title: string; readonly text: string }

const docsUri = (path: string): string => `pohf://docs/${path}`
const credentialUri = /^pohf:\/\/credentials\/([A-Za-z0-9_-]{1,64})$/
const pageSize = 25

export const resourceTemplates = [
  {
    uriTemplate: 'pohf://credentials/{credentialId}',
    name: 'credential',
    title: 'A credential of the calling agent',
    description: 'State and claims of a credential that this API key issued. Needs an API key.',
    mimeType: 'application/json',
  },
] as const

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

type ReadContext = Pick<ToolCall, 'ctx' | 'dispatch'> & { readonly docs: readonly DocsPage[] }

const readCredential = async (
  { ctx, dispatch }: ReadContext,
  uri: string,
  credentialId: string,
): Promise<Json> => {
  const { status, body } = await dispatch('credentials.issued.read', { params: { credentialId } })
  if (status === 404) throw new ResourceNotFoundError(uri)
  const answer = isRecord(body) ? body : {}
  if (status < 400) return answer
  throw new ProtocolError(
    ProtocolErrorCode.InvalidRequest,
    String(answer['message']),
    status === 401 ? { ...answer, ...keyHelp(ctx.config.BASE_URL) } : answer,
  )
}

export const readResource = async (context: ReadContext, uri: string) => {
  const page = context.docs.find(({ path }) => docsUri(path) === uri)
  if (page) return { contents: [{ uri, mimeType: 'text/markdown', text: page.text }] }
  const credentialId = credentialUri.exec(uri)?.[1]
  if (credentialId === undefined) throw new ResourceNotFoundError(uri)
  const credential = await readCredential(context, uri, credentialId)
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(credential) }] }
}
