import { z } from 'zod'

type JsonSchema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

const typeOf = (schema: JsonSchema): string => {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(' or ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.format === 'date-time') return 'time'
  if (schema.format === 'uri') return 'URL'
  if (schema.type === 'array') {
    const { properties } = schema.items ?? {}
    return properties
      ? `array of {${Object.keys(properties).join(', ')}}`
      : `array of ${typeOf(schema.items ?? {})}s`
  }
  return schema.type ?? 'any'
}

/** The fields of an object with their types, as rows of a table. A field that may be missing has a question mark. */
export const fieldsOf = (schema: z.ZodObject): string[][] => {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'output' }) as JsonSchema
  return Object.entries(properties).map(([name, field]) => [
    `\`${name}${required.includes(name) ? '' : '?'}\``,
    typeOf(field),
  ])
}
