/** What the documents say is the same in all of them, because each takes it from here. */
export type DocumentFacts = {
  /** The public address, without a slash at the end. */
  readonly baseUrl: string
  /** CAIP-2 names of the chains that purchases settle on; empty where none is configured. */
  readonly chains: readonly string[]
  /** The address of the token that purchases are paid in. */
  readonly asset?: string | undefined
}

export const catalogueAddress = '/.well-known/api-catalog'
/** RFC 8288: where the home page leads programs. */
export const catalogueLink = `<${catalogueAddress}>; rel="api-catalog"`

/** How the API catalogue (RFC 9727) names the relation of a document to the service. */
type Relation = 'service-desc' | 'service-doc' | 'service-meta' | 'status'

type Address = {
  readonly path: string
  readonly relation: Relation
  readonly mediaType: string
  readonly title: string
  readonly about: string
}

/** The surfaces of MCP. Each has a document for the registry, and the last part of its name there. */
export const mcpSurfaces = [
  {
    path: '/mcp',
    name: 'pohf',
    title: 'PoHF: verified human work',
    about: 'Find, order and buy work by verified humans, and check credentials.',
  },
  {
    path: '/mcp/identity',
    name: 'pohf-identity',
    title: 'PoHF: registration and verification',
    about: 'Register an agent and get credentials that a human did a specific act.',
  },
] as const
export type McpSurface = (typeof mcpSurfaces)[number]

export const serverJsonPath = ({ path }: McpSurface): string => `${path}/server.json`

/** Every document by which a program or a person learns what the service does. */
export const addresses: readonly Address[] = [
  {
    path: '/openapi.json',
    relation: 'service-desc',
    mediaType: 'application/json',
    title: 'OpenAPI',
    about: 'every operation with its schemas',
  },
  {
    path: '/docs',
    relation: 'service-doc',
    mediaType: 'text/html',
    title: 'Documentation',
    about: 'quick starts and guides for people',
  },
  {
    path: '/docs/reference/api',
    relation: 'service-doc',
    mediaType: 'text/html',
    title: 'API reference',
    about: 'every operation with its fields, errors and a request to copy',
  },
  {
    path: '/docs/errors',
    relation: 'service-doc',
    mediaType: 'text/html',
    title: 'Error codes',
    about: 'what happened, why, and what to do',
  },
  {
    path: '/llms.txt',
    relation: 'service-doc',
    mediaType: 'text/plain',
    title: 'For language models',
    about: 'what a language model needs to use the service',
  },
  {
    path: '/api/agents/discovery',
    relation: 'service-meta',
    mediaType: 'application/json',
    title: 'Manifest',
    about: 'what can be bought and how it is paid, at this moment',
  },
  {
    path: '/.well-known/jwks.json',
    relation: 'service-meta',
    mediaType: 'application/json',
    title: 'Public keys',
    about: 'what credentials are verified with',
  },
  {
    path: '/.well-known/pohf-forging.json',
    relation: 'service-meta',
    mediaType: 'application/json',
    title: 'Prices of forgeries',
    about: 'what forged credentials cost, signed',
  },
  ...mcpSurfaces.map((surface) => ({
    path: serverJsonPath(surface),
    relation: 'service-meta' as const,
    mediaType: 'application/json',
    title: `MCP server ${surface.name}`,
    about: surface.about,
  })),
  {
    path: '/readyz',
    relation: 'status',
    mediaType: 'text/plain',
    title: 'Readiness',
    about: 'whether the service works now',
  },
]
