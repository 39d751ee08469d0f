import { consoleCookie, memberCookie, type Endpoint } from '@pohf/protocol'
import { bodies } from './bodies.ts'
import { exampleOf } from './example.ts'
import type { Schema } from './schema.ts'

/** The headers by which a caller of each kind is known. */
const credentials: Readonly<Record<Endpoint['auth'], readonly string[]>> = {
  public: [],
  optional: ['-H "Authorization: Bearer $POHF_KEY"'],
  bearer: ['-H "Authorization: Bearer $POHF_KEY"'],
  licensed: ['-H "Authorization: Bearer $POHF_KEY"'],
  order: ['-H "Authorization: Bearer $POHF_KEY"'],
  member: [`-b "${memberCookie}=$POHF_PERSON"`, '-H "Origin: $POHF_URL"'],
  console: [`-b "${consoleCookie}=$POHF_PERSON"`, '-H "Origin: $POHF_URL"'],
  operator: ['-H "Authorization: Bearer $POHF_OPERATOR_KEY"'],
  operatorSession: [],
  secret: [],
  directory: ['-H "Authorization: Bearer $POHF_SCIM_TOKEN"'],
}

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: Schema
}

/** A variable for each part of the path that the reader has to fill in: `{orderId}` is `$ORDER_ID`. */
const variableOf = (name: string): string => `$${name.replaceAll(/([A-Z])/g, '_$1').toUpperCase()}`

const requestUrlOf = (path: string, parameters: readonly Parameter[]): string => {
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleOf(schema, name)))}`)
    .join('&')
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => variableOf(name))
  return `"$POHF_URL${filled}${query === '' ? '' : `?${query}`}"`
}

/** The body that the request shows: written by hand where the schema does not say enough. */
export const bodyOf = ({ publicId }: Pick<Endpoint, 'publicId'>, schema: Schema): unknown =>
  bodies[publicId] ?? exampleOf(schema)

/** Inside single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A request with curl that calls the endpoint. */
export const requestOf = (
  endpoint: Pick<Endpoint, 'publicId' | 'method' | 'path' | 'auth'>,
  parameters: readonly Parameter[],
  body: Schema | undefined,
): string => {
  const { method, path, auth } = endpoint
  const isDefaultMethod = method === 'GET' || (method === 'POST' && body !== undefined)
  const parts = [
    `curl -s ${isDefaultMethod ? '' : `-X ${method} `}${requestUrlOf(path, parameters)}`,
    ...credentials[auth],
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(bodyOf(endpoint, body)))}`]),
  ]
  return parts.join(' \\\n  ')
}
