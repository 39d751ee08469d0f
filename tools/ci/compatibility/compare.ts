import type { Interface, Operation, Schema } from './interface.ts'
import { schemaBreaks, type Side } from './schemas.ts'

type Auth = Operation['auth']

/** Which changes of access refuse nobody who was let in. Every other change breaks a client. */
const relaxations: Readonly<Record<Auth, readonly Auth[]>> = {
  public: ['optional'],
  optional: ['public'],
  bearer: ['order', 'optional', 'public'],
  licensed: ['optional', 'public'],
  order: ['optional', 'public'],
  member: ['public'],
  console: ['public'],
  operator: [],
  operatorSession: [],
  secret: [],
  directory: [],
}

type Versions = { readonly before: Interface; readonly after: Interface }
type Rows = { readonly old: Operation; readonly now: Operation }

const accessBreaks = ({ old, now }: Rows): string[] => [
  ...(old.publicId === now.publicId ? [] : [`its id is ${now.publicId} instead of ${old.publicId}`]),
  ...(old.auth === now.auth || relaxations[old.auth].includes(now.auth)
    ? []
    : [`its access is ${now.auth} instead of ${old.auth}`]),
  ...(now.scope === undefined || now.scope === old.scope
    ? []
    : [`it needs the scope ${now.scope} instead of ${old.scope ?? 'none'}`]),
  ...(old.cors === undefined || old.cors === now.cors
    ? []
    : [`pages of other sites: ${now.cors ?? 'none'} instead of ${old.cors}`]),
  ...(old.allowedHeaders ?? [])
    .filter((name) => !now.allowedHeaders?.includes(name))
    .map((name) => `pages of other sites may not send ${name}`),
  ...(old.exposedHeaders ?? [])
    .filter((name) => !now.exposedHeaders?.includes(name))
    .map((name) => `pages of other sites may not read ${name}`),
  ...(old.bodyLimitBytes !== undefined && (now.bodyLimitBytes ?? Infinity) < old.bodyLimitBytes
    ? [`bodies have at most ${now.bodyLimitBytes} bytes instead of ${old.bodyLimitBytes}`]
    : []),
]

type Compare = (side: Side, at: string, schemas: readonly [Schema, Schema]) => string[]

const findParameter = (
  row: Operation,
  name: string,
  place: string,
): Operation['parameters'][number] | undefined =>
  row.parameters.find((parameter) => parameter.name === name && parameter.in === place)

const parameterBreaks = ({ old, now }: Rows, compare: Compare): string[] => {
  return [
    ...old.parameters.flatMap((was) => {
      const at = `${was.in} parameter ${was.name}`
      const is = findParameter(now, was.name, was.in)
      if (is === undefined) return [`${at} is removed`]
      return [
        ...(is.required && !was.required ? [`${at} is required`] : []),
        ...compare('request', at, [was.schema, is.schema]),
      ]
    }),
    ...now.parameters
      .filter(({ name, in: place, required }) => required && findParameter(old, name, place) === undefined)
      .map(({ name, in: place }) => `${place} parameter ${name} is required`),
  ]
}

/** A call without a body sends an object without fields. */
const noBody: Schema = { type: 'object', properties: {} }

const requestBreaks = ({ old, now }: Rows, compare: Compare): string[] => {
  if (old.request === undefined)
    return Object.values(now.request ?? {})
      .slice(0, 1)
      .flatMap((schema) => compare('request', 'body', [noBody, schema]))
  return Object.entries(old.request).flatMap(([type, schema]) => {
    const is = now.request?.[type]
    return is === undefined ? [`bodies as ${type} are removed`] : compare('request', 'body', [schema, is])
  })
}

const responseBreaks = ({ old, now }: Rows, compare: Compare): string[] => [
  ...Object.entries(old.responses).flatMap(([status, bodies]) => {
    const is = now.responses[status]
    if (is === undefined) return [`status ${status} is removed`]
    return Object.entries(bodies).flatMap(([type, schema]) => {
      const body = is[type]
      return body === undefined
        ? [`status ${status} as ${type} is removed`]
        : compare('response', `response ${status}`, [schema, body])
    })
  }),
  // Clients treat every status from 400 on as a refusal. One below is a new meaning that they must know.
  ...Object.keys(now.responses)
    .filter((status) => Number(status) < 400 && !(status in old.responses))
    .map((status) => `status ${status} is new`),
]

const operationBreaks = ({ before, after }: Versions, rows: Rows): string[] => {
  const compare: Compare = (side, at, [was, is]) =>
    schemaBreaks({ before: before.schemas, after: after.schemas }, { side, at, before: was, after: is })
  return [
    ...accessBreaks(rows),
    ...parameterBreaks(rows, compare),
    ...requestBreaks(rows, compare),
    ...responseBreaks(rows, compare),
  ]
}

/** Every change that breaks a client of `before`, one line each. An added operation breaks nobody. */
export const findBreaks = (before: Interface, after: Interface): string[] => {
  const current = new Map(after.operations.map((row) => [row.operation, row]))
  const hasSameSchemas = JSON.stringify(before.schemas) === JSON.stringify(after.schemas)
  const found = before.operations.flatMap((old) => {
    const now = current.get(old.operation)
    if (now === undefined) return [`${old.operation}: it is removed`]
    if (hasSameSchemas && JSON.stringify(old) === JSON.stringify(now)) return []
    return operationBreaks({ before, after }, { old, now }).map((text) => `${old.operation}: ${text}`)
  })
  return [...new Set(found)]
}
