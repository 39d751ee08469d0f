import { catalogueAddress, mcpSurfaces, serverJsonPath, type DocumentFacts } from './addresses.ts'
import { apiCatalogue } from './api-catalogue.ts'
import { llmsText } from './llms-text.ts'
import { servedOpenApi } from './openapi.ts'
import { serverJson } from './server-json.ts'

export { addresses, catalogueLink } from './addresses.ts'

/** The text is made when it is asked for: OpenAPI takes 0.2 s of CPU, and most processes of a test never serve it. */
type Document = { readonly path: string; readonly mediaType: string; readonly makeText: () => string }

const utf8 = (mediaType: string): string => `${mediaType}; charset=utf-8`

/** The documents that are the same for everybody until the next start. The manifest, which counts stock, is an operation. */
export const makeDocuments = (facts: DocumentFacts): readonly Document[] => [
  { path: '/openapi.json', mediaType: utf8('application/json'), makeText: () => servedOpenApi(facts) },
  { path: '/llms.txt', mediaType: utf8('text/plain'), makeText: () => llmsText(facts) },
  {
    path: catalogueAddress,
    mediaType: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    makeText: () => apiCatalogue(facts),
  },
  ...mcpSurfaces.map((surface) => ({
    path: serverJsonPath(surface),
    mediaType: utf8('application/json'),
    makeText: () => serverJson(facts, surface),
  })),
]
