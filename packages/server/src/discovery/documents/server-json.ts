import { apiVersion } from '@pohf/protocol'
import type { DocumentFacts, McpSurface } from './addresses.ts'

/**
 * The namespace of a name in the registry: the domain in reverse, which only its owner may use. `localhost` for an IP
 * address.
 */
const namespaceOf = (baseUrl: string): string => {
  const { hostname } = new URL(baseUrl)
  const isNumber = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
  return isNumber ? 'localhost' : hostname.split('.').toReversed().join('.')
}

/** The document by which the registry of MCP lists a surface. An operator submits it; the service does not. */
export const serverJson = ({ baseUrl }: DocumentFacts, { path, name, title, about }: McpSurface): string =>
  JSON.stringify({
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: `${namespaceOf(baseUrl)}/${name}`,
    title,
    description: about,
    version: apiVersion,
    websiteUrl: `${baseUrl}/docs`,
    remotes: [
      {
        type: 'streamable-http',
        url: `${baseUrl}${path}`,
        headers: [
          {
            name: 'Authorization',
            description: 'Bearer and an API key. Tools that need none work without it.',
            placeholder: 'Bearer svc_test_…',
            isRequired: false,
            isSecret: true,
          },
        ],
      },
    ],
  })
