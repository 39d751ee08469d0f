import { Failure, at, isRecord } from './expect.ts'
import type { Http, HttpResponse } from './http.ts'

/** A document in which the deployment describes itself. */
type DiscoveryDocument = { readonly path: string; readonly text: string; readonly body: unknown }

/** An address that a document names. Without a method the document says only that it exists. */
export type NamedAddress = {
  readonly method: string | undefined
  readonly path: string
  readonly from: string
}

const catalogueRelation = /<([^>]+)>\s*;\s*rel="?api-catalog"?/
/** More documents than a deployment has, so that a loop of links ends. */
const documentsMax = 40

const readOk = async (http: Http, path: string): Promise<HttpResponse> => {
  const answer = await http.get(path)
  if (answer.status !== 200) throw new Failure(`${path} to be served`, `${answer.status} ${answer.text}`)
  return answer
}

/** Everything a linkset (RFC 9264) links to, with the media type that it states. */
const linksOf = (catalogue: unknown): readonly { readonly href: string; readonly type: string }[] => {
  const contexts = at(catalogue, 'linkset')
  return (Array.isArray(contexts) ? contexts : [])
    .filter(isRecord)
    .flatMap((context) => Object.values(context))
    .flatMap((links) => (Array.isArray(links) ? links : []))
    .map((link) => [at(link, 'href'), at(link, 'type')])
    .map(([href, type]) => ({
      href: typeof href === 'string' ? href : '',
      type: typeof type === 'string' ? type : '',
    }))
}

/** Reads the documents as a program does that knows nothing but the address of the service: home page, catalogue, documents. */
export const readDocuments = async (
  http: Http,
): Promise<{ readonly issuer: string; readonly documents: readonly DiscoveryDocument[] }> => {
  const home = await readOk(http, '/')
  const [, cataloguePath] = catalogueRelation.exec(home.headers.get('link') ?? '') ?? []
  if (cataloguePath === undefined)
    throw new Failure('a Link of the home page to the API catalogue', home.headers.get('link'))
  const catalogue = await readOk(http, cataloguePath)
  const anchor = String(at(catalogue.body, 'linkset.0.anchor'))
  const issuer = anchor.slice(0, anchor.indexOf(cataloguePath))
  const paths = linksOf(catalogue.body)
    .filter(({ href, type }) => href.startsWith(`${issuer}/`) && /json|text\/plain/.test(type))
    .map(({ href }) => href.slice(issuer.length))
  const documents: DiscoveryDocument[] = [
    { path: '/', text: home.text, body: undefined },
    { path: cataloguePath, text: catalogue.text, body: catalogue.body },
  ]
  for (const path of [...new Set(paths)].slice(0, documentsMax)) {
    const { text, body } = await readOk(http, path)
    documents.push({ path, text, body })
  }
  return { issuer, documents }
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** Issuers of JWTs are names that are compared, and nothing is served there. */
const withoutIssuers = (text: string): string => text.replaceAll(/"(?:test_)?issuer":"[^"]*",?/g, '')

/** Every address of the deployment that a document names: in full, as a link of a page, or as a path of OpenAPI. */
const addressesIn = (
  issuer: string,
  { path: from, text, body }: DiscoveryDocument,
): readonly NamedAddress[] => {
  const full = new RegExp(`(?:\\b([A-Z]{3,6}) )?${escaped(issuer)}((?:/[^\\s"'\`<>)\\\\]*)?)`, 'g')
  const named = [...withoutIssuers(text).matchAll(full)].map(([, method, path = '']) => ({
    method,
    path: path.replace(/[.,;:]+$/, '') || '/',
    from,
  }))
  const links = [...text.matchAll(/\shref="(\/[^"#]*)/g)].map(([, path = '']) => ({
    method: 'GET',
    path,
    from,
  }))
  const described = at(body, 'paths')
  const operations = Object.entries(isRecord(described) ? described : {}).flatMap(([path, methods]) =>
    Object.keys(isRecord(methods) ? methods : {}).map((method) => ({
      method: method.toUpperCase(),
      path,
      from,
    })),
  )
  return [...named, ...links, ...operations]
}

/** Real ids for the parameters of templates, by the name of the parameter. */
type Ids = Readonly<Record<string, string>>

const fill = (path: string, ids: Ids): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? `no-such-${name}`))

/** What a request without key and content gets from an operation that exists. */
const isProof = ({ status }: HttpResponse): boolean => status < 500 && status !== 404 && status !== 405

/** Says why an answer does not prove that the address exists, or undefined if it does. */
const addressFault = async (
  http: Http,
  { method, path, from }: NamedAddress,
  ids: Ids,
): Promise<string | undefined> => {
  const target = fill(path, ids)
  const call = (by: string) =>
    http.send({
      method: by,
      path: target,
      ...(by === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' }),
    })
  const first = await call(method ?? 'GET')
  const allowed = first.headers.get('allow')?.split(',')[0]?.trim()
  const answer =
    method === undefined && first.status === 405 && allowed !== undefined ? await call(allowed) : first
  return isProof(answer)
    ? undefined
    : `${answer.call}, which ${from} names, answers ${answer.status} ${answer.text.slice(0, 120)}`
}

const keyOf = ({ method, path }: NamedAddress): string => `${method ?? 'any'} ${path}`

type CheckOptions = {
  readonly ids: Ids
  /** Addresses that cannot answer yet on this deployment. */
  readonly leaveOut?: (address: NamedAddress) => boolean
}

/** Calls every address of the documents once, and says which of them do not exist. */
export const checkAddresses = async (
  http: Http,
  { ids, leaveOut = () => false }: CheckOptions,
): Promise<{ readonly seen: number; readonly documents: number; readonly faults: readonly string[] }> => {
  const { issuer, documents } = await readDocuments(http)
  const all = documents.flatMap((document) => addressesIn(issuer, document))
  const addresses = [...new Map(all.map((address) => [keyOf(address), address])).values()].filter(
    (address) => !leaveOut(address),
  )
  const faults: string[] = []
  for (const address of addresses) {
    const fault = await addressFault(http, address, ids)
    if (fault !== undefined) faults.push(fault)
  }
  return { seen: addresses.length, documents: documents.length, faults }
}
