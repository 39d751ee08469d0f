import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../../..')

/** Packages that reach customers and people. None may carry a bot; `pohf attack` starts the arena as a program of its own. */
const shipped = ['protocol', 'server', 'tag', 'verify', 'scorer', 'console']

type Source = { readonly path: string; readonly text: string }

const readShipped = (name: string): Source[] =>
  globSync(`packages/${name}/{package.json,*.ts,{src,dev,assets}/**/*.{ts,tsx,js,mjs}}`, { cwd: root })
    .filter((path) => !/\.test\.tsx?$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** Any way to name the package: by its npm name, or by a path into its folder. */
const faultsOf = (sources: readonly Source[]): string[] =>
  sources.filter(({ text }) => /@pohf\/arena|["'`/]arena\//.test(text)).map(({ path }) => path)

test('no shipped package names the arena, in its sources or its dependencies', (t) => {
  const present = shipped.filter((name) => existsSync(join(root, 'packages', name)))
  const sources = present.flatMap((name) => readShipped(name))
  t.diagnostic(`saw ${sources.length} files of ${present.join(', ')}`)
  assert.ok(present.length >= 4 && sources.length >= 200, `saw only ${sources.length} files`)
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
