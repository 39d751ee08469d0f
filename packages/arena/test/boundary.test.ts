import assert from 'node:assert/strict'
import { globSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../../..')

/** Every other package. `pohf attack` of the command line starts the arena as a program of its own, so it names its file. */
const shipped = readdirSync(join(root, 'packages')).filter((name) => name !== 'arena' && name !== 'cli')

type Source = { readonly path: string; readonly text: string }

const readShipped = (name: string): Source[] =>
  globSync(`packages/${name}/{package.json,*.ts,{src,dev,assets}/**/*.{ts,tsx,js,mjs}}`, { cwd: root })
    .filter((path) => !/\.test\.tsx?$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** Any way to name the package: by its npm name, or by a path into its folder. */
const faultsOf = (sources: readonly Source[]): string[] =>
  sources.filter(({ text }) => /@pohf\/arena|["'`/]arena\//.test(text)).map(({ path }) => path)

test('no shipped package names the arena, in its sources or its dependencies', (t) => {
  const sources = shipped.flatMap((name) => readShipped(name))
  t.diagnostic(`saw ${sources.length} files of ${shipped.join(', ')}`)
  for (const name of ['web', 'protocol', 'scorer', 'server', 'verify'])
    assert.ok(shipped.includes(name), name)
  assert.ok(sources.length >= 250, `saw only ${sources.length} files`)
  assert.deepEqual(faultsOf(sources), [])
})

test('a planted import is seen, by name, by path, and as a dependency', () => {
  for (const text of [
    "import { families } from '@pohf/arena'",
    "await import('../../../arena/src/index.ts')",
    '{ "dependencies": { "@pohf/arena": "0.1.0" } }',
  ])
    assert.deepEqual(faultsOf([{ path: 'packages/server/src/planted.ts', text }]), [
      'packages/server/src/planted.ts',
    ])
})

test('the arena is private, so that it cannot be published by mistake', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'packages/arena/package.json'), 'utf8'))
  assert.equal((manifest as { private?: unknown }).private, true)
})

test('the command line starts the arena, and imports nothing of it', () => {
  const sources = readShipped('cli').filter(({ path }) => !path.endsWith('.json'))
  assert.ok(sources.length >= 4)
  for (const { path, text } of sources)
    assert.doesNotMatch(text, /(from|import\()\s*['"`][^'"`]*arena/, `${path} imports the arena`)
})
