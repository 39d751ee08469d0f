/** The part of JSON Schema that the OpenAPI document uses. */
export type Schema = {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly description?: string
  readonly default?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly $ref?: string
}

const safeIntegerMax = Number.MAX_SAFE_INTEGER

export const choicesOf = ({ anyOf, oneOf }: Schema): readonly Schema[] => anyOf ?? oneOf ?? []

/** The name of a type, such as `string`, `array of object` or the values of an enumeration. */
export const typeOf = (schema: Schema): string => {
  if (schema.$ref !== undefined) return 'the error body'
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  const choices = choicesOf(schema)
  if (choices.length > 0) return [...new Set(choices.map(typeOf))].join(' or ')
  if (schema.format === 'date-time') return 'time (ISO 8601, UTC)'
  if (schema.format === 'uri') return 'URL'
  if (schema.format === 'email') return 'mail address'
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`
  return typeof schema.type === 'object' ? schema.type.join(' or ') : (schema.type ?? 'any JSON')
}

const limitsOf = (schema: Schema): string[] => {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, maxItems } = schema
  const isBounded = maximum !== undefined && maximum < safeIntegerMax
  return [
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
    ...(minimum === undefined || minimum <= -safeIntegerMax ? [] : [`at least ${minimum}`]),
    ...(isBounded ? [`at most ${maximum}`] : []),
    ...(minLength !== undefined && minLength > 1 ? [`at least ${minLength} characters`] : []),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems} entries`]),
    ...(schema.default === undefined ? [] : [`by default \`${JSON.stringify(schema.default)}\``]),
  ]
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** What a field means and its bounds, in sentences. */
export const meaningOf = (schema: Schema): string => {
  const limits = limitsOf(schema).join(', ')
  return [schema.description ?? '', limits === '' ? '' : `${capitalized(limits)}.`]
    .filter((part) => part !== '')
    .join(' ')
}

export type Field = { readonly name: string; readonly isRequired: boolean; readonly schema: Schema }

/** Deeper fields are in the OpenAPI document. */
const depthMax = 4

/** The object inside a field: of an array its entries, of several choices the objects. */
const objectsIn = (schema: Schema): readonly Schema[] => {
  if (schema.properties) return [schema]
  if (schema.items) return objectsIn(schema.items)
  return [...choicesOf(schema), ...(schema.allOf ?? [])].flatMap(objectsIn)
}

/** The fields of a schema with those inside them, as `order.units[].id`. A name that several choices share is listed once. */
export const fieldsOf = (schema: Schema, before = '', depth = 1): Field[] => {
  const fields = objectsIn(schema).flatMap((object) =>
    Object.entries(object.properties ?? {}).flatMap(([key, inner]): Field[] => {
      const name = `${before}${key}`
      const isArray = inner.type === 'array'
      const own = { name, isRequired: object.required?.includes(key) ?? false, schema: inner }
      return depth === depthMax
        ? [own]
        : [own, ...fieldsOf(inner, `${name}${isArray ? '[]' : ''}.`, depth + 1)]
    }),
  )
  return [...new Map(fields.map((field) => [field.name, field])).values()]
}
