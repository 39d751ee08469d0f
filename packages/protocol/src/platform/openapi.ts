import { z } from 'zod'
import { consoleCookie, errorsOf, memberCookie, type Endpoint } from './endpoint.ts'
import { sharedRequestSchemas, sharedSchemas } from '../components.ts'
import { apiVersion, endpoints } from '../endpoints.ts'
import { sentence } from '../discovery/story.ts'
import { errorCatalogue, type ErrorCode } from './errors.ts'
import { errorBody } from './fields.ts'
import { shareResponses, shareSchemas } from './openapi-references.ts'

type Json = Record<string, unknown>

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _, ...body } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const shown = z.globalRegistry.get(zodSchema)?.['openapi']
      if (!isRecord(shown)) return
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
      Object.assign(jsonSchema, shown)
    },
  }) as Json
  return body
}

const parametersOf = (endpoint: Endpoint): Json[] =>
  (['path', 'query'] as const).flatMap((place) => {
    const object = place === 'path' ? endpoint.params : endpoint.query
    if (!object) return []
    const { properties, required } = schemaOf(object, 'input')
    const needed = Array.isArray(required) ? required : []
    return Object.entries(isRecord(properties) ? properties : {}).map(([name, schema]) => ({
      name,
      in: place,
      required: needed.includes(name),
      schema,
    }))
  })

const content = (schema: Json, also?: string): Json => ({
  'application/json': { schema },
  ...(also ? { [also]: { schema: { type: 'string' } } } : {}),
})

const errorsByStatus = (endpoint: Endpoint): ReadonlyMap<number, readonly ErrorCode[]> => {
  const codes = errorsOf(endpoint)
  const statuses = new Set(codes.map((code) => errorCatalogue[code].status))
  return new Map(
    [...statuses].map((status) => [status, codes.filter((code) => errorCatalogue[code].status === status)]),
  )
}

const errorResponse = (codes: readonly ErrorCode[]): Json => ({
  description: codes.join(', '),
  content: content({ $ref: '#/components/schemas/Error' }),
})

const responsesOf = (endpoint: Endpoint): Json => {
  const responses: Record<string, Json> = {
    200: {
      description: endpoint.summary,
      content: endpoint.mediaType
        ? { [endpoint.mediaType]: { schema: schemaOf(endpoint.response, 'output') } }
        : content(schemaOf(endpoint.response, 'output'), endpoint.alsoMediaType),
    },
  }
  for (const [status, codes] of errorsByStatus(endpoint)) responses[status] = errorResponse(codes)
  for (const [status, schema] of Object.entries(endpoint.also ?? {})) {
    const existing = responses[status]
    const body = schemaOf(schema, 'output')
    responses[status] = existing
      ? {
          description: `the challenge, or ${String(existing['description'])}`,
          content: content({ anyOf: [body, { $ref: '#/components/schemas/Error' }] }),
        }
      : { description: 'see the documentation', content: content(body) }
  }
  return responses
}

const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data']

const requestBodyOf = ({ auth, body }: Endpoint): Json => {
  if (!body) return {}
  const schema = schemaOf(body, 'input')
  const forms = auth === 'secret' ? formTypes.map((type) => [type, { schema }]) : []
  return { requestBody: { content: { ...Object.fromEntries(forms), ...content(schema) } } }
}

const security: Record<Endpoint['auth'], Json[] | undefined> = {
  public: [],
  optional: [{}, { bearer: [] }],
  bearer: undefined,
  licensed: undefined,
  order: undefined,
  member: [{ member: [] }],
  console: [{ console: [] }],
  // Rows of the operators' listener, which this document leaves out.
  operator: undefined,
  operatorSession: undefined,
  // OpenAPI has no name for a key in a body.
  secret: [],
  directory: [{ directory: [] }],
}

const securityOf = ({ auth, administratorOnly }: Endpoint): Json[] | undefined =>
  administratorOnly ? [{ owner: [] }] : security[auth]

const operationOf = (endpoint: Endpoint): Json => {
  const parameters = parametersOf(endpoint)
  return {
    operationId: endpoint.publicId,
    summary: endpoint.summary,
    tags: [endpoint.publicId.split('.')[0]],
    ...(securityOf(endpoint) ? { security: securityOf(endpoint) } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBodyOf(endpoint),
    responses: responsesOf(endpoint),
  }
}

/** The OpenAPI 3.1 document, generated from the table alone, with every schema at the places where it holds. */
export const unsharedOpenApiDocument = () => {
  const paths: Record<string, Json> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operationOf(endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'PoHF',
      version: apiVersion,
      summary: sentence,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: { Error: schemaOf(errorBody, 'output') },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'svc_live_… or svc_test_…' },
        owner: {
          type: 'http',
          scheme: 'bearer',
          description:
            'cns_…: the console token of an owner who signed in within the last hour, in live mode with a passkey. No API key is accepted.',
        },
        directory: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token of the directory of an outside issuer (SCIM), from the file that the operator names.',
        },
        member: {
          type: 'apiKey',
          in: 'cookie',
          name: memberCookie,
          description:
            'The session cookie of a signed-in person. Writes also require the Origin of our own pages.',
        },
        console: {
          type: 'apiKey',
          in: 'cookie',
          name: consoleCookie,
          description:
            'The session cookie of a person of an account, for the pages of the console. Writes also require the Origin of our own pages and JSON.',
        },
      },
    },
  }
}

/** More codes than these make a name that nobody reads. */
const namedCodesMax = 3

const nameOf = (codes: readonly string[]): string =>
  codes.join('_or_').replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The error responses by the names of their codes, such as `NotFound` and `InvalidJsonOrValidationFailed`. */
const sharedResponses = (): Record<string, Json> =>
  Object.fromEntries(
    endpoints.flatMap((endpoint) =>
      [...errorsByStatus(endpoint)]
        .filter(([status, { length }]) => length <= namedCodesMax && !endpoint.also?.[status])
        .map(([, codes]) => [nameOf(codes), errorResponse(codes)]),
    ),
  )

const schemasOf = (
  schemas: Readonly<Record<string, z.ZodType>>,
  io: 'input' | 'output',
): Record<string, Json> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, schemaOf(schema, io)]))

/** The OpenAPI 3.1 document: responses and schemas that several operations have are components with a name. */
export const openApiDocument = (): Json => {
  const { paths, components, ...head } = unsharedOpenApiDocument()
  const responses = sharedResponses()
  const schemas = {
    ...schemasOf(sharedSchemas(), 'output'),
    ...schemasOf(sharedRequestSchemas(), 'input'),
  }
  const shared = shareSchemas(shareResponses(paths, responses), schemas)
  return {
    ...head,
    paths: shared.value,
    components: { ...components, responses, schemas: shared.components },
  }
}
