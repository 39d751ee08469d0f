import { isSchema, type Schema } from './interface.ts'

/** `request`: what was valid must stay valid. `response`: what clients were told to expect must stay true. */
export type Side = 'request' | 'response'
type Schemas = Readonly<Record<string, Schema>>
type Pair = {
  readonly side: Side
  /** Where in the request or response the two schemas are. */
  readonly at: string
  /** The schema whose every value must be valid for `outer`: the old one of a request, the new one of a response. */
  readonly inner: Schema
  readonly outer: Schema
}

const lowerLimits = ['minLength', 'minItems', 'minimum', 'exclusiveMinimum', 'minProperties'] as const
const upperLimits = ['maxLength', 'maxItems', 'maximum', 'exclusiveMaximum', 'maxProperties'] as const
const exactKeywords = ['format', 'pattern', 'multipleOf', 'uniqueItems', 'contentEncoding'] as const
const known: ReadonlySet<string> = new Set([
  ...lowerLimits,
  ...upperLimits,
  ...exactKeywords,
  'type',
  'const',
  'enum',
  'default',
  'anyOf',
  'oneOf',
  '$ref',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'items',
  'prefixItems',
])

/** A keyword that nobody compares would let every change of it pass. */
const refuseUnknown = (schema: Schema): void => {
  const unknown = Object.keys(schema).filter((keyword) => !known.has(keyword))
  if (unknown.length > 0)
    throw new Error(`tools/ci/compatibility does not know the keywords ${unknown.join(', ')}`)
}

const print = (value: unknown): string => JSON.stringify(value) ?? 'none'

const referenceStart = '#/components/schemas/'

/** The schemas of which a value has to match one: references, unions and lists of types are resolved. */
const alternativesOf = (schema: Schema, schemas: Schemas): Schema[] => {
  refuseUnknown(schema)
  const { $ref: reference, anyOf, oneOf, type } = schema
  if (typeof reference === 'string') {
    const found = schemas[reference.slice(referenceStart.length)]
    if (!reference.startsWith(referenceStart) || found === undefined)
      throw new Error(`${reference} is not a schema of the interface`)
    return alternativesOf(found, schemas)
  }
  const union = anyOf ?? oneOf
  if (Array.isArray(union)) return union.filter(isSchema).flatMap((each) => alternativesOf(each, schemas))
  return Array.isArray(type) ? type.map((each: unknown) => ({ ...schema, type: each })) : [schema]
}

const isAnything = (schema: Schema): boolean => Object.keys(schema).every((keyword) => keyword === 'default')

const valuesOf = ({ const: constant, enum: values }: Schema): readonly unknown[] | undefined => {
  if (constant !== undefined) return [constant]
  return Array.isArray(values) ? values : undefined
}

const typeOf = (schema: Schema): string => {
  if (typeof schema['type'] === 'string') return schema['type']
  const [value] = valuesOf(schema) ?? []
  return value === undefined ? 'any' : typeof value
}

const fits = (inner: Schema, outer: Schema): boolean => {
  const [a, b] = [typeOf(inner), typeOf(outer)]
  return a === b || b === 'any' || (a === 'integer' && b === 'number')
}

/** What a list of values says as limits, so that it can be compared with an open type. */
const limitsOf = (values: readonly unknown[]): Schema => {
  const lengths = values.filter((value) => typeof value === 'string').map((value) => value.length)
  const numbers = values.filter((value) => typeof value === 'number')
  return {
    ...(lengths.length > 0 ? { minLength: Math.min(...lengths), maxLength: Math.max(...lengths) } : {}),
    ...(numbers.length > 0 ? { minimum: Math.min(...numbers), maximum: Math.max(...numbers) } : {}),
  }
}

const valueBreaks = ({ side, at, inner, outer }: Pair): string[] => {
  const [has, may] = [valuesOf(inner), valuesOf(outer)]
  if (may === undefined) return []
  const allowed = new Set(may.map(print))
  if (has === undefined)
    return [
      side === 'request'
        ? `${at} accepts only ${[...allowed].join(', ')}`
        : `${at} may be any ${typeOf(inner)}`,
    ]
  return has
    .map(print)
    .filter((value) => !allowed.has(value))
    .map((value) => (side === 'request' ? `${at} no longer accepts ${value}` : `${at} may be ${value}`))
}

/** Limits of responses may grow: clients were not told to reserve room. */
const limitBreaks = ({ side, at, inner, outer }: Pair): string[] => {
  if (side === 'response') return []
  const values = valuesOf(inner)
  const limits = values === undefined ? inner : limitsOf(values)
  const isTighter = (keyword: string, compare: (a: number, b: number) => boolean): boolean => {
    const [before, after] = [limits[keyword], outer[keyword]]
    return typeof after === 'number' && (typeof before !== 'number' || compare(after, before))
  }
  return [
    ...lowerLimits.filter((keyword) => isTighter(keyword, (after, before) => after > before)),
    ...upperLimits.filter((keyword) => isTighter(keyword, (after, before) => after < before)),
  ].map((keyword) => `${at} has ${keyword} ${print(outer[keyword])} instead of ${print(inner[keyword])}`)
}

const exactBreaks = ({ side, at, inner, outer }: Pair): string[] =>
  exactKeywords
    .filter((keyword) => outer[keyword] !== undefined && print(outer[keyword]) !== print(inner[keyword]))
    // The pattern of a format is that of the library.
    .filter(
      (keyword) =>
        keyword !== 'pattern' || outer['format'] === undefined || outer['format'] !== inner['format'],
    )
    .map((keyword) => {
      const [before, after] = side === 'request' ? [inner, outer] : [outer, inner]
      return `${at} has ${keyword} ${print(after[keyword])} instead of ${print(before[keyword])}`
    })

const recordOf = (value: unknown): Readonly<Record<string, Schema>> =>
  isSchema(value) ? (value as Readonly<Record<string, Schema>>) : {}
const namesOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []

type Versions = { readonly before: Schemas; readonly after: Schemas }

const fieldBreaks = (versions: Versions, { side, at, inner, outer }: Pair): string[] => {
  const [before, after] = side === 'request' ? [inner, outer] : [outer, inner]
  const [oldFields, newFields] = [recordOf(before['properties']), recordOf(after['properties'])]
  const [oldNeeded, newNeeded] = [namesOf(before['required']), namesOf(after['required'])]
  const changed =
    side === 'request'
      ? newNeeded.filter((name) => !oldNeeded.includes(name)).map((name) => `${at}.${name} is required`)
      : oldNeeded
          .filter((name) => name in newFields && !newNeeded.includes(name))
          .map((name) => `${at}.${name} may be absent`)
  return [
    ...changed,
    ...Object.entries(oldFields).flatMap(([name, field]) => {
      const now = newFields[name]
      return now === undefined
        ? [`${at}.${name} is removed`]
        : schemaBreaks(versions, { side, at: `${at}.${name}`, before: field, after: now })
    }),
  ]
}

/** Fields without a name of their own. A response may get such fields: clients skip what they do not know. */
const mapBreaks = (versions: Versions, { side, at, inner, outer }: Pair): string[] => {
  const [has, may] = [inner['additionalProperties'] ?? {}, outer['additionalProperties'] ?? {}]
  if (has === false) return []
  if (may === false) return side === 'request' ? [`${at} refuses other fields`] : []
  const compare = (a: Schema, b: Schema, place: string) => {
    const [before, after] = side === 'request' ? [a, b] : [b, a]
    return schemaBreaks(versions, { side, at: place, before, after })
  }
  const values = isSchema(has) && isSchema(may) ? compare(has, may, `${at}{}`) : []
  const names = outer['propertyNames']
  if (!isSchema(names)) return values
  const old = inner['propertyNames']
  return [...values, ...compare(isSchema(old) ? old : { type: 'string' }, names, `the names of ${at}`)]
}

const listOf = (value: unknown): readonly Schema[] => (Array.isArray(value) ? value.filter(isSchema) : [])

const itemBreaks = (versions: Versions, { side, at, inner, outer }: Pair): string[] => {
  const [before, after] = side === 'request' ? [inner, outer] : [outer, inner]
  const [oldPlaces, newPlaces] = [listOf(before['prefixItems']), listOf(after['prefixItems'])]
  if (oldPlaces.length !== newPlaces.length)
    return [`${at} has ${newPlaces.length} fixed places instead of ${oldPlaces.length}`]
  const places = oldPlaces.flatMap((place, index) =>
    schemaBreaks(versions, { side, at: `${at}[${index}]`, before: place, after: newPlaces[index] ?? {} }),
  )
  const [oldItems, newItems] = [before['items'] ?? {}, after['items'] ?? {}]
  return isSchema(oldItems) && isSchema(newItems)
    ? [...places, ...schemaBreaks(versions, { side, at: `${at}[]`, before: oldItems, after: newItems })]
    : places
}

const alternativeBreaks = (versions: Versions, pair: Pair): string[] => {
  const type = typeOf(pair.outer)
  return [
    ...valueBreaks(pair),
    ...limitBreaks(pair),
    ...exactBreaks(pair),
    ...(type === 'object' ? [...fieldBreaks(versions, pair), ...mapBreaks(versions, pair)] : []),
    ...(type === 'array' ? itemBreaks(versions, pair) : []),
  ]
}

type Change = {
  readonly side: Side
  readonly at: string
  readonly before: Schema
  readonly after: Schema
}

/** What a client that knows the schema `before` no longer can rely on. */
export const schemaBreaks = (versions: Versions, { side, at, before, after }: Change): string[] => {
  const [old, now] = [alternativesOf(before, versions.before), alternativesOf(after, versions.after)]
  const [inners, outers] = side === 'request' ? [old, now] : [now, old]
  const [was, is] = [before['default'], after['default']]
  const defaults =
    side === 'request' && was !== undefined && print(was) !== print(is)
      ? [`${at} has the default ${print(is)} instead of ${print(was)}`]
      : []
  if (outers.some(isAnything)) return defaults
  const nearest = (pairs: readonly Pair[]): string[] | undefined =>
    pairs
      .filter(({ inner, outer }) => fits(inner, outer))
      .map((pair) => alternativeBreaks(versions, pair))
      .toSorted((a, b) => a.length - b.length)[0]
  const unmatched = inners.flatMap((inner) => {
    const type = typeOf(inner) === 'any' ? 'any value' : typeOf(inner)
    return (
      nearest(outers.map((outer) => ({ side, at, inner, outer }))) ?? [
        side === 'request' ? `${at} no longer accepts ${type}` : `${at} may be ${type}`,
      ]
    )
  })
  // A response that never has one of its objects again has lost the fields of that object.
  const lost =
    side === 'request'
      ? []
      : outers
          .filter((outer) => typeOf(outer) === 'object')
          .flatMap(
            (outer) =>
              nearest(inners.map((inner) => ({ side, at, inner, outer }))) ?? [`${at} is never an object`],
          )
  return [...new Set([...defaults, ...unmatched, ...lost])]
}
