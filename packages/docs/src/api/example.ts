import { choicesOf, type Schema } from './schema.ts'

/** Values of fields whose schema alone gives none that a reader would send. */
const values: Readonly<Record<string, unknown>> = {
  name: 'My agent',
  contactEmail: 'me@example.com',
  email: 'me@example.com',
  url: 'https://example.com/hook',
  sessionId: 'my-first-session',
  memberId: 'mem_example',
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  uri: 'https://example.com/',
  email: 'me@example.com',
}

const stringOf = ({ format, minLength = 1 }: Schema, name: string): string =>
  (format === undefined ? undefined : formats[format]) ?? (name === '' ? 'text' : name).padEnd(minLength, 'x')

/** The smallest value that a schema describes: the required fields of an object, the first of several choices. */
export const exampleOf = (schema: Schema, name = ''): unknown => {
  if (typeof schema.type === 'object') return exampleOf({ ...schema, type: schema.type[0] ?? 'string' }, name)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (name in values && schema.type === 'string') return values[name]
  const [choice] = choicesOf(schema)
  if (choice) return exampleOf(choice, name)
  if (schema.type === 'object' || schema.properties)
    return Object.fromEntries(
      (schema.required ?? []).map((key) => [key, exampleOf(schema.properties?.[key] ?? {}, key)]),
    )
  if (schema.type === 'array') return [exampleOf(schema.items ?? {}, name)]
  if (schema.type === 'integer' || schema.type === 'number')
    return Math.max(
      schema.minimum ?? 1,
      schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1,
    )
  if (schema.type === 'boolean') return true
  return stringOf(schema, name)
}
