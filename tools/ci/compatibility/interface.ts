import { readFileSync, writeFileSync } from 'node:fs'
import {
  endpoints,
  openApiDocument,
  resolveReferences,
  usualBodyLimitBytes,
  type Endpoint,
} from '../../../packages/protocol/src/index.ts'

export type Schema = Readonly<Record<string, unknown>>
type Bodies = Readonly<Record<string, Schema>>
type Parameter = {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: Schema
}

/** What clients can see of one operation. Absent facts of the table are left out. */
export type Operation = {
  readonly operation: string
  readonly publicId: string
  readonly auth: Endpoint['auth']
  readonly scope?: string
  readonly cors?: 'echo' | 'any'
  readonly allowedHeaders?: readonly string[]
  readonly exposedHeaders?: readonly string[]
  readonly bodyLimitBytes?: number
  readonly parameters: readonly Parameter[]
  readonly request?: Bodies
  readonly responses: Readonly<Record<string, Bodies>>
}

/** The public interface of one version: its operations and the schemas that they refer to. */
export type Interface = {
  /** The version that was released with it; null where none was. */
  readonly release: string | null
  readonly schemas: Readonly<Record<string, Schema>>
  readonly operations: readonly Operation[]
}

/** Keywords that say nothing about which values are valid. */
const annotations: ReadonlySet<string> = new Set([
  'title',
  'description',
  'examples',
  'deprecated',
  '$comment',
])

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A schema without its annotations. The names below `properties` are fields, whatever they are called. */
const bare = (schema: Schema): Schema =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !annotations.has(keyword))
      .map(([keyword, value]) => {
        if (keyword === 'properties' && isSchema(value))
          return [
            keyword,
            Object.fromEntries(
              Object.entries(value).map(([name, field]) => [name, isSchema(field) ? bare(field) : field]),
            ),
          ]
        // Values are data and not schemas, even where they are objects.
        if (keyword === 'const' || keyword === 'enum' || keyword === 'default') return [keyword, value]
        if (Array.isArray(value))
          return [keyword, value.map((each: unknown) => (isSchema(each) ? bare(each) : each))]
        return [keyword, isSchema(value) ? bare(value) : value]
      }),
  )

type Content = Readonly<Record<string, { readonly schema: Schema }>>
type OperationDescription = {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

const bodiesOf = (content: Content = {}): Bodies =>
  Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, bare(schema)]))

const operationOf = (row: Endpoint, described: OperationDescription): Operation => ({
  operation: `${row.method} ${row.path}`,
  publicId: row.publicId,
  auth: row.auth,
  ...(row.scope === undefined ? {} : { scope: row.scope }),
  ...(row.cors === undefined ? {} : { cors: row.cors }),
  ...(row.corsHeaders === undefined
    ? {}
    : { allowedHeaders: row.corsHeaders.allow, exposedHeaders: row.corsHeaders.expose }),
  ...(row.body === undefined ? {} : { bodyLimitBytes: row.bodyLimitBytes ?? usualBodyLimitBytes }),
  parameters: (described.parameters ?? []).map(({ schema, ...parameter }) => ({
    ...parameter,
    schema: bare(schema),
  })),
  ...(described.requestBody === undefined ? {} : { request: bodiesOf(described.requestBody.content) }),
  responses: Object.fromEntries(
    Object.entries(described.responses).map(([status, { content }]) => [status, bodiesOf(content)]),
  ),
})

/** The interface of these sources, from the endpoint table and the document that is generated from it. */
export const currentInterface = (): Interface => {
  const published = openApiDocument()
  const document = resolveReferences(published, published, '#/components/responses/') as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, OperationDescription>>>>
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  }
  const operations = endpoints.map((row) => {
    const described = document.paths[row.path]?.[row.method.toLowerCase()]
    if (described === undefined) throw new Error(`${row.method} ${row.path} is not in the OpenAPI document`)
    return operationOf(row, described)
  })
  return {
    release: null,
    schemas: Object.fromEntries(
      Object.entries(document.components.schemas).map(([name, schema]) => [name, bare(schema)]),
    ),
    operations: operations.toSorted((a, b) => (a.operation < b.operation ? -1 : 1)),
  }
}

const releasedFile = new URL('released.ndjson', import.meta.url)

/** One line for the schemas and one for each operation, so that a review shows which operations changed. */
export const printInterface = ({ operations, ...head }: Interface): string =>
  [head, ...operations].map((line) => `${JSON.stringify(line)}\n`).join('')

/** The interface of the last release. */
export const readReleased = (): Interface => {
  const [head, ...operations] = readFileSync(releasedFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  return { ...(head as Omit<Interface, 'operations'>), operations: operations as Operation[] }
}

export const writeReleased = (released: Interface): void =>
  writeFileSync(releasedFile, printInterface(released))
