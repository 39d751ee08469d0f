import { at, isRecord } from './expect.ts'
import type { Http } from './http.ts'

/** Method and path of an endpoint that a statement stands on, as the interface description writes it. */
export type EndpointRef = `${'GET' | 'POST'} /${string}`

export type Api = {
  /** The interface description, or undefined where the deployment serves none. */
  readonly description: unknown
  readonly has: (need: EndpointRef) => boolean
}

/** Two descriptions may name a path parameter differently. */
const nameless = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}')

/** Reads once what the deployment says it has. Without a description everything counts as built. */
export const readApi = async (http: Http): Promise<Api> => {
  const answer = await http.get('/openapi.json')
  const paths = answer.status === 200 ? at(answer.body, 'paths') : undefined
  if (!isRecord(paths)) return { description: undefined, has: () => true }
  const known = new Set(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(isRecord(methods) ? methods : {}).map(
        (method) => `${method.toUpperCase()} ${nameless(path)}`,
      ),
    ),
  )
  return { description: answer.body, has: (need) => known.has(nameless(need)) }
}
