type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mapInside = (value: unknown, change: (inner: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map(change)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner)]))
    : value
}

/** Puts a reference in place of every response that is one of the components. */
export const shareResponses = (value: unknown, components: Readonly<Record<string, Json>>): unknown => {
  const names = new Map(
    Object.entries(components).map(([name, response]) => [JSON.stringify(response), name]),
  )
  const share = (inner: unknown): unknown => {
    const name = isObject(inner) && 'content' in inner ? names.get(JSON.stringify(inner)) : undefined
    return name === undefined ? mapInside(inner, share) : { $ref: `#/components/responses/${name}` }
  }
  return share(value)
}

const withoutDescription = (schema: Json): Json => {
  const { description: _, ...rest } = schema
  return rest
}

/**
 * Puts a reference in place of every schema that is one of the components. A schema with a description of its own keeps it
 * beside the reference; one without cannot stand for a component that has one.
 */
const schemaSharing = (components: Readonly<Record<string, Json>>) => {
  const names = new Map(
    Object.entries(components).map(([name, schema]) => [JSON.stringify(withoutDescription(schema)), name]),
  )
  const referenceTo = (schema: Json): Json | undefined => {
    const name = names.get(JSON.stringify(withoutDescription(schema)))
    const shared = name === undefined ? undefined : components[name]
    if (shared === undefined) return
    const $ref = `#/components/schemas/${name}`
    const { description } = schema
    if (description === shared['description']) return { $ref }
    return description === undefined ? undefined : { $ref, description }
  }
  const share = (value: unknown): unknown =>
    (isObject(value) && referenceTo(value)) || mapInside(value, share)
  return share
}

/** A value and the components themselves, with references to the components in both. */
export const shareSchemas = (value: unknown, components: Readonly<Record<string, Json>>) => {
  const share = schemaSharing(components)
  return {
    value: share(value),
    // A component may refer to others, not to itself.
    components: mapInside(components, (schema) => mapInside(schema, share)),
  }
}

const partAt = (document: Json, reference: string): unknown =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), document)

/** A part of a document with what its references to components stand for, or only those that start with `start`. */
export const resolveReferences = (
  document: Json,
  part: unknown = document,
  start = '#/components/',
): unknown => {
  const resolve = (value: unknown): unknown => {
    if (!isObject(value) || typeof value['$ref'] !== 'string' || !value['$ref'].startsWith(start))
      return mapInside(value, resolve)
    const { $ref: reference, ...own } = value
    const target = resolve(partAt(document, reference))
    if (!isObject(target)) throw new Error(`${reference} is not in the document`)
    return { ...target, ...own }
  }
  return resolve(part)
}
