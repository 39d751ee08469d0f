import { endpoints, errorCatalogue, errorsOf, unsharedOpenApiDocument, type Endpoint } from '@pohf/protocol'
import type { Document } from '../documents.ts'
import { requestOf, type Parameter } from './request.ts'
import { fieldsOf, meaningOf, typeOf, type Schema } from './schema.ts'

type Content = Readonly<Record<string, { readonly schema: Schema }>>
type Operation = {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}
type OpenApi = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

const groupTitles: Readonly<Record<string, string>> = {
  accounts: 'Accounts and the console',
  agents: 'Agents and API keys',
  approvals: 'Approvals',
  companies: 'Sign-in of a company',
  credentials: 'Credentials',
  credits: 'Credits',
  discovery: 'Discovery and MCP',
  evidence: 'Evidence: wallets, devices, presence',
  issuers: 'Outside issuers',
  members: 'Members',
  partners: 'Partners',
  payments: 'Payments',
  questions: 'Questions to people',
  requests: 'Requests',
  roots: 'Roots',
  sessions: 'Sessions',
  signing: 'Public keys',
  tasks: 'Micro-tasks',
  tracking: 'Tracking and metrics',
  vhh: 'The VHH index',
  webhooks: 'Webhooks and events',
  work: 'Work, orders and purchases',
}
const groupTitle = (group: string): string => {
  const title = groupTitles[group]
  if (title === undefined) throw new Error(`packages/docs/src/api/pages.ts has no title for ${group}`)
  return title
}
const groupOf = ({ publicId }: Endpoint): string => publicId.slice(0, publicId.indexOf('.'))

const callers: Readonly<Record<Endpoint['auth'], string>> = {
  public: 'No key.',
  optional: 'A key may be sent.',
  bearer: 'An API key',
  licensed: 'An API key',
  order: 'An API key',
  member: 'A person who is signed in, by cookie. The pages of the service call it.',
  console: 'A person who is signed in to the console, by cookie. The pages of the console call it.',
  operator: 'An operator.',
  operatorSession: 'An operator who is signed in.',
  directory: 'The directory of a company, by the bearer token of its issuer.',
  secret: 'An API key in the field `secret` of the body, which is a form or JSON.',
}
const callerOf = ({ auth, scope }: Endpoint): string => {
  const caller = callers[auth]
  if (caller.endsWith('.')) return caller
  return scope === undefined ? `${caller}.` : `${caller} with the scope \`${scope}\`.`
}

const cell = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll('<', '&lt;')
    .replaceAll('\n', ' ')
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

const fieldTable = (schema: Schema): string => {
  const fields = fieldsOf(schema)
  if (fields.length === 0) return meaningOf(schema) || `A value: ${typeOf(schema)}.`
  return table(
    ['Field', 'Type', 'Meaning'],
    fields.map(({ name, isRequired, schema: field }) => [
      `\`${name}${isRequired ? '' : '?'}\``,
      typeOf(field),
      meaningOf(field),
    ]),
  )
}

const parameterTable = (parameters: readonly Parameter[]): string =>
  table(
    ['Parameter', 'In', 'Type', 'Meaning'],
    parameters.map(({ name, in: place, required, schema }) => [
      `\`${name}${required ? '' : '?'}\``,
      place,
      typeOf(schema),
      meaningOf(schema),
    ]),
  )

const schemaIn = (content: Content | undefined): Schema | undefined =>
  (content?.['application/json'] ?? Object.values(content ?? {})[0])?.schema

const answersOf = (endpoint: Endpoint, { responses }: Operation): string[] => {
  const own = ['200', ...Object.keys(endpoint.also ?? {})]
  return own.flatMap((status) => {
    const content = responses[status]?.content
    const schema = schemaIn(content)
    const types = Object.keys(content ?? {}).filter((type) => type !== 'application/json')
    const note = types.length === 0 ? '' : ` (${types.map((type) => `\`${type}\``).join(', ')})`
    return schema ? [`**Answer ${status}**${note}`, fieldTable(schema)] : []
  })
}

const errorTable = (endpoint: Endpoint): string =>
  table(
    ['Status', 'Error', 'What happened'],
    errorsOf(endpoint)
      .toSorted((a, b) => errorCatalogue[a].status - errorCatalogue[b].status)
      .map((code) => [
        String(errorCatalogue[code].status),
        `[\`${code}\`](/docs/errors/${code})`,
        errorCatalogue[code].message,
      ]),
  )

const operationText = (endpoint: Endpoint, operation: Operation): string => {
  const { parameters = [], requestBody } = operation
  const body = schemaIn(requestBody?.content)
  return [
    `## ${endpoint.method} ${endpoint.path}`,
    `${endpoint.summary} Name: \`${endpoint.publicId}\`.`,
    `**Caller**: ${callerOf(endpoint)}`,
    `\`\`\`sh\n${requestOf(endpoint, parameters, body)}\n\`\`\``,
    ...(parameters.length === 0 ? [] : ['**Parameters**', parameterTable(parameters)]),
    ...(body === undefined ? [] : ['**Body**', fieldTable(body)]),
    ...answersOf(endpoint, operation),
    '**Errors**',
    errorTable(endpoint),
  ].join('\n\n')
}

const anchorOf = ({ method, path }: Endpoint): string =>
  `${method} ${path}`
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

const indexText = (introduction: string, groups: ReadonlyMap<string, readonly Endpoint[]>): string =>
  [
    introduction,
    ...[...groups].flatMap(([group, rows]) => [
      `## [${groupTitle(group)}](/docs/reference/api/${group})`,
      table(
        ['Endpoint', 'What it does'],
        rows.map((row) => [
          `[\`${row.method} ${row.path}\`](/docs/reference/api/${group}#${anchorOf(row)})`,
          row.summary,
        ]),
      ),
    ]),
  ].join('\n\n')

const requestNote =
  'Variables in the requests, and the meaning of question marks: [API reference](/docs/reference/api).'

/** The API reference: `introduction` with a list of all endpoints behind it, and a page for each group. */
export const apiDocuments = (introduction: Document): Document[] => {
  const { paths } = unsharedOpenApiDocument() as unknown as OpenApi
  const groups = Map.groupBy<string, Endpoint>(endpoints, groupOf)
  const pages = [...groups].map(([group, rows]) => {
    const operations = rows.map((row) => {
      const operation = paths[row.path]?.[row.method.toLowerCase()]
      if (!operation) throw new Error(`the OpenAPI document has no ${row.method} ${row.path}`)
      return operationText(row, operation)
    })
    return {
      path: `docs/reference/api/${group}`,
      address: `/docs/reference/api/${group}`,
      markdown: [`# API: ${groupTitle(group)}`, requestNote, ...operations].join('\n\n'),
    }
  })
  return [{ ...introduction, markdown: indexText(introduction.markdown.trimEnd(), groups) }, ...pages]
}
