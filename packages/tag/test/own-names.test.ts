import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { endpoints, errorBody } from '@pohf/protocol'
import { ownNames } from '../own-names.ts'

/** The names of all properties of a JSON Schema, at any depth. */
const propertiesIn = (schema: unknown): string[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {} } = schema as { properties?: object }
  return [...Object.keys(properties), ...Object.values(schema).flatMap(propertiesIn)]
}

/** Every field of every request and answer. */
const endpointNames = (): Set<string> => {
  const schemas = endpoints.flatMap(({ params, query, body, response, also = {} }) =>
    [params, query, body, response, ...Object.values(also)].filter((schema) => schema !== undefined),
  )
  return new Set(
    [...schemas, errorBody].flatMap((schema) =>
      propertiesIn(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' })),
    ),
  )
}

/** The fields of a recorded chunk: what its reader takes from the JSON. */
const telemetryNames = (): Set<string> => {
  const path = fileURLToPath(import.meta.resolve('@pohf/protocol/telemetry'))
  const source = readFileSync(path, 'utf8')
  const taken = [...source.matchAll(/const \{ ([\w, ]+) \} = value\b/g)].flatMap(([, names = '']) =>
    names.split(', '),
  )
  return new Set([...taken, ...[...source.matchAll(/\w\['(\w+)'\]/g)].map(([, name = '']) => name)])
}

/** Every member of an interface of JavaScript and the DOM, from the declarations of TypeScript. */
const platformNames = (): Set<string> => {
  const require = createRequire(createRequire(import.meta.url).resolve('typescript/package.json'))
  const { platform, arch } = process
  const compiler = require.resolve(`@typescript/typescript-${platform}-${arch}/package.json`)
  const files = globSync('lib.{dom,dom.*,es*}.d.ts', { cwd: join(dirname(compiler), 'lib') })
  assert.ok(files.length >= 50, `${files.length} declaration files`)
  const text = files.map((file) => readFileSync(join(dirname(compiler), 'lib', file), 'utf8')).join('\n')
  const members = text.matchAll(/^\s+(?:readonly |get |set )?"?(\w+)"?\??\s*(?:<[^>\n]*>)?[:(]/gm)
  return new Set([...members].map(([, name = '']) => name))
}

const taken: Readonly<Record<string, Set<string>>> = {
  'a field of a request or an answer': endpointNames(),
  'a field of telemetry': telemetryNames(),
  'a name of JavaScript or the DOM': platformNames(),
}

const faultsOf = (names: readonly string[]): string[] =>
  names.flatMap((name) =>
    Object.entries(taken).flatMap(([what, there]) => (there.has(name) ? [`${name} is ${what}`] : [])),
  )

test('no property that the build shortens is a name of the wire or of the platform', () => {
  assert.ok(ownNames.length >= 70, `${ownNames.length} names`)
  assert.deepEqual(
    ownNames.filter((name, index) => ownNames.indexOf(name) !== index),
    [],
  )
  assert.deepEqual(faultsOf(ownNames), [])
})

test('a name of each kind is found', (t) => {
  for (const [what, names] of Object.entries(taken)) t.diagnostic(`${what}: ${names.size} names`)
  assert.ok(taken['a field of telemetry'] && taken['a field of telemetry'].size >= 12)
  assert.deepEqual(faultsOf(['isTrapped', 'retryAfter', 'env', 'shadowRoot', 'flatMap']), [
    'retryAfter is a field of a request or an answer',
    'env is a field of telemetry',
    'shadowRoot is a name of JavaScript or the DOM',
    'flatMap is a name of JavaScript or the DOM',
  ])
})
