/**
 * The part of JSON Schema 2020-12 by which action types are checked. `pattern` and `$ref` are left out: a pattern can take
 * exponential time, a reference can lead anywhere. A keyword that is not listed is refused, so that no type seems stricter
 * than it is.
 */
type Scalar = string | number | boolean | null
const typeNames = ['object', 'array', 'string', 'integer', 'boolean', 'null'] as const
type TypeName = (typeof typeNames)[number]
type Schema = {
  readonly type?: TypeName | readonly TypeName[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly enum?: readonly Scalar[]
  readonly const?: Scalar
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
}
export type SchemaFault = { readonly path: string; readonly message: string }

const depthMax = 8
const nodesMax = 500
const dialect = 'https://json-schema.org/draft/2020-12/schema'

const pointer = (path: string, key: string | number): string =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isScalar = (value: unknown): value is Scalar =>
  value === null ||
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  (Number.isSafeInteger(value) && !Object.is(value, -0))
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const isTypeName = (value: unknown): boolean => typeNames.some((name) => name === value)
const isListOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.length <= 200 && value.every(isItem)
const isText = (value: unknown): boolean => typeof value === 'string'

/** What the value of each keyword must be. */
const keywords: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['type', (value: unknown) => isTypeName(value) || isListOf(isTypeName)(value)],
  ['properties', isRecord],
  ['required', isListOf(isText)],
  ['additionalProperties', (value: unknown) => typeof value === 'boolean'],
  ['enum', isListOf(isScalar)],
  ['const', isScalar],
  ['minLength', isCount],
  ['maxLength', isCount],
  ['minimum', Number.isSafeInteger],
  ['maximum', Number.isSafeInteger],
  ['items', isRecord],
  ['minItems', isCount],
  ['maxItems', isCount],
  ['title', isText],
  ['description', isText],
  ['$schema', (value: unknown) => value === dialect],
])

type OpenNode = { readonly path: string; readonly value: unknown; readonly depth: number }

/** The schemas inside a schema. */
const innerNodes = (path: string, schema: Readonly<Record<string, unknown>>, depth: number): OpenNode[] => {
  const { properties, items } = schema
  const named = Object.entries(isRecord(properties) ? properties : {})
  return [
    ...named.map(([key, value]) => ({ path: pointer(`${path}/properties`, key), value, depth: depth + 1 })),
    ...(items === undefined ? [] : [{ path: `${path}/items`, value: items, depth: depth + 1 }]),
  ]
}

/** Why a schema cannot be that of an action; undefined where it can. */
export const schemaFault = (schema: unknown): SchemaFault | undefined => {
  if (!isRecord(schema) || schema['type'] !== 'object')
    return { path: '', message: 'must have the type object' }
  const open: OpenNode[] = [{ path: '', value: schema, depth: 1 }]
  let seen = 0
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value, depth } = next
    seen += 1
    if (seen > nodesMax) return { path, message: `has more than ${nodesMax} schemas` }
    if (depth > depthMax) return { path, message: `is nested deeper than ${depthMax} levels` }
    if (!isRecord(value)) return { path, message: 'must be an object' }
    for (const [keyword, inner] of Object.entries(value)) {
      const isValid = keywords.get(keyword)
      if (!isValid) return { path: pointer(path, keyword), message: 'is a keyword that is not supported' }
      if (!isValid(inner)) return { path: pointer(path, keyword), message: 'has a value that is not allowed' }
    }
    open.push(...innerNodes(path, value, depth))
  }
  return undefined
}

const segmentsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Whether a schema describes the field at a pointer. Items of arrays are named by their index. */
export const describesField = (schema: object, path: string): boolean => {
  let at: Schema | undefined = schema
  for (const segment of segmentsOf(path)) {
    const named: Schema | undefined =
      at.properties && Object.hasOwn(at.properties, segment) ? at.properties[segment] : undefined
    at = named ?? (/^(0|[1-9]\d{0,3})$/.test(segment) ? at.items : undefined)
    if (at === undefined) return false
  }
  return true
}

const typeOf = (value: unknown): TypeName | undefined => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return 'integer'
  return typeNames.find((name) => name === typeof value)
}

/** What is wrong with a value itself, whatever is inside it. */
const valueFault = (schema: Schema, value: unknown): string | undefined => {
  const type = typeOf(value)
  if (schema.type !== undefined && ![schema.type].flat().some((name) => name === type))
    return `must be of type ${[schema.type].flat().join(' or ')}`
  if (schema.const !== undefined && value !== schema.const) return 'is not the value that the type demands'
  if (schema.enum && !schema.enum.some((allowed) => allowed === value)) return 'is none of the allowed values'
  if (typeof value === 'string') {
    // In code points, as JSON Schema counts.
    const length = Array.from(value).length
    if (length < (schema.minLength ?? 0)) return `is shorter than ${schema.minLength} characters`
    if (length > (schema.maxLength ?? Infinity)) return `is longer than ${schema.maxLength} characters`
  }
  if (typeof value === 'number') {
    if (value < (schema.minimum ?? -Infinity)) return `is less than ${schema.minimum}`
    if (value > (schema.maximum ?? Infinity)) return `is more than ${schema.maximum}`
  }
  if (Array.isArray(value)) {
    if (value.length < (schema.minItems ?? 0)) return `has fewer than ${schema.minItems} items`
    if (value.length > (schema.maxItems ?? Infinity)) return `has more than ${schema.maxItems} items`
  }
  return undefined
}

/** Why an action does not match the schema of its type; undefined where it does. Both were checked before. */
export const actionFault = (schema: object, action: unknown): SchemaFault | undefined => {
  const open: { readonly path: string; readonly schema: Schema; readonly value: unknown }[] = [
    { path: '', schema, value: action },
  ]
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, schema: rules, value } = next
    const message = valueFault(rules, value)
    if (message !== undefined) return { path, message }
    if (Array.isArray(value)) {
      const { items } = rules
      if (items)
        open.push(...value.map((item, n) => ({ path: pointer(path, n), schema: items, value: item })))
    } else if (isRecord(value)) {
      const missing = rules.required?.find((key) => !Object.hasOwn(value, key))
      if (missing !== undefined) return { path: pointer(path, missing), message: 'is missing' }
      for (const [key, inner] of Object.entries(value)) {
        const { properties = {} } = rules
        const known = Object.hasOwn(properties, key) ? properties[key] : undefined
        if (known) open.push({ path: pointer(path, key), schema: known, value: inner })
        else if (rules.additionalProperties === false)
          return { path: pointer(path, key), message: 'is a field that the type does not have' }
      }
    }
  }
  return undefined
}
