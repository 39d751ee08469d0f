import { endpoints, scopes } from '@pohf/protocol'
import type { Page } from '../platform/http/call.ts'
import { staticPage } from '../platform/http/static-page.ts'
import { protectedResourcePath } from '../platform/http/http-headers.ts'
import type { Ctx } from '../platform/ops/context.ts'

/**
 * RFC 9728: how a client that was refused with 401 gets access. There is no authorization server: a key comes from a POST
 * without a person, so the document names that address.
 */
const metadataOf = (baseUrl: string, path: string): string =>
  JSON.stringify({
    resource: `${baseUrl}${path}`,
    resource_name: 'PoHF',
    bearer_methods_supported: ['header'],
    scopes_supported: scopes,
    resource_documentation: `${baseUrl}/docs/guides/keys`,
    key_registration_endpoint: `${baseUrl}/api/agents/register`,
  })

/** The document of the API, and one for each address of MCP: clients derive its address from that of the resource. */
export const protectedResourcePages = ({ config }: Ctx): Page[] => {
  const resources = endpoints.filter((row) => row.isProtectedResource).map(({ path }) => path)
  return ['', ...resources].map((path) =>
    staticPage(`${protectedResourcePath}${path}`, {
      mediaType: 'application/json; charset=utf-8',
      text: metadataOf(config.BASE_URL, path),
      headers: { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' },
    }),
  )
}
