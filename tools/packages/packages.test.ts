import assert from 'node:assert/strict'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { publishedPackages, readSourceManifest } from './catalogue.ts'
import { importFaults } from './compile.ts'
import { contentFaults } from './inspect.ts'
import { manifestOf } from './manifest.ts'
import { findingFaults } from './project.ts'

const manifests = new Map(
  publishedPackages.map((published) => {
    const source = readSourceManifest(published)
    return [source.name, manifestOf(published, source)]
  }),
)

test('the packages that are published have one version and depend on no package that is not', () => {
  assert.deepEqual(
    [...manifests.keys()],
    ['@pohf/protocol', '@pohf/verify', '@pohf/scorer', '@pohf/sdk', '@pohf/tag', 'pohf'],
  )
  assert.equal(new Set([...manifests.values()].map(({ version }) => version)).size, 1)
  for (const { name, dependencies } of manifests.values())
    for (const dependency of Object.keys(dependencies))
      assert.ok(!dependency.startsWith('@pohf/') || manifests.has(dependency), `${name}: ${dependency}`)
  assert.equal(manifests.get('pohf')?.dependencies['pg'], undefined)
})

test('every entry names a compiled module with its types', () => {
  assert.deepEqual(manifests.get('@pohf/protocol')?.exports['./probes'], {
    types: './dist/sessions/probes.d.ts',
    default: './dist/sessions/probes.js',
  })
  assert.deepEqual(manifests.get('pohf')?.['bin'], { pohf: './dist/main.js' })
  for (const { name, exports, ...rest } of manifests.values()) {
    assert.doesNotMatch(JSON.stringify(exports), /src|(?<!\.d)\.ts"/, name)
    assert.deepEqual(rest['publishConfig'], { access: 'public', provenance: true }, name)
    assert.equal(rest['license'], 'Apache-2.0', name)
  }
})

test('TypeScript, maps and a missing licence in a tarball are found', () => {
  const files = ['package.json', 'README.md', 'dist/index.js', 'dist/index.d.ts', 'src/a.ts', 'dist/a.js.map']
  assert.deepEqual(contentFaults({ files }), [
    'LICENSE is missing',
    'src/a.ts does not belong in it',
    'dist/a.js.map does not belong in it',
  ])
})

test('an import that nobody would find after an installation is named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-imports-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'dist'))
  writeFileSync(join(folder, 'dist/b.js'), '')
  writeFileSync(
    join(folder, 'dist/a.js'),
    "import { x } from 'node:fs'\nimport y from 'jose'\nimport './b.js'\nexport * from './c.js'\nimport z from 'pg'\n",
  )
  writeFileSync(join(folder, 'dist/a.d.ts'), "import type { Z } from 'zod'\n")
  assert.deepEqual(importFaults({ folder: 'verify' }, folder, ['jose']).toSorted(), [
    'dist/a.d.ts imports zod',
    'dist/a.js imports ./c.js',
    'dist/a.js imports pg',
  ])
})

test('a finding that differs, and a warning of the runtime, are faults', () => {
  assert.match(findingFaults('Error: no such module').join(), /printed no findings/)
  const faults = findingFaults('(node:1) ExperimentalWarning: x\n[["accepted","bad_signature"]]')
  assert.ok(faults.includes('accepted: "bad_signature"'))
  assert.ok(faults.some((fault) => fault.includes('ExperimentalWarning')))
})
