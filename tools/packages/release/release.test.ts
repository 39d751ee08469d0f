import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Lockfile } from '../../ci/lockfile-rules.ts'
import { checksumsFile, releaseFaults, signChecksums, signatureFile, writeChecksums } from './checksums.ts'
import { readMaterials } from './materials.ts'
import { notesOf } from './notes.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-release-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const identity = 'release@pohf.example'
const tarball = 'pohf-verify-0.1.0.tgz'

const makeKey = (name: string): string => {
  const key = join(folder, name)
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', key])
  return key
}
const key = makeKey('key')
const signers = join(folder, 'allowed_signers')
writeFileSync(signers, `${identity} ${readFileSync(`${key}.pub`, 'utf8')}`)

const original = join(folder, 'original')
mkdirSync(original)
writeFileSync(join(original, tarball), 'the bytes of a tarball')
writeFileSync(join(original, 'pohf-0.1.0.cdx.json'), '{}')
writeChecksums(original)
signChecksums(original, key)

let copies = 0
/** The faults of a copy of the release after something happened to it. */
const faultsAfter = (change: (copy: string) => void): string[] => {
  const copy = join(folder, `copy-${(copies += 1)}`)
  cpSync(original, copy, { recursive: true })
  change(copy)
  return releaseFaults(copy, signers, identity)
}

test('a release as it was signed has no fault, and sha256sum agrees', () => {
  assert.deepEqual(
    faultsAfter(() => undefined),
    [],
  )
  const { status, stdout } = spawnSync('sha256sum', ['--check', checksumsFile], {
    cwd: original,
    encoding: 'utf8',
  })
  assert.equal(status, 0)
  assert.match(stdout, /pohf-verify-0\.1\.0\.tgz: OK/)
})

test('a changed, added or missing file is named', () => {
  assert.deepEqual(
    faultsAfter((copy) => appendFileSync(join(copy, tarball), '!')),
    [`${tarball} was changed`],
  )
  assert.deepEqual(
    faultsAfter((copy) => writeFileSync(join(copy, 'more.tgz'), '')),
    [`more.tgz is not in ${checksumsFile}`],
  )
  assert.deepEqual(
    faultsAfter((copy) => rmSync(join(copy, tarball))),
    [`${tarball} is missing`],
  )
})

test('checksums that were written again, signed by another key or not signed at all are refused', () => {
  const rewritten = faultsAfter((copy) => {
    appendFileSync(join(copy, tarball), '!')
    writeChecksums(copy)
  })
  assert.match(rewritten.join(), /^SHA256SUMS is not signed by release@pohf\.example/)
  const other = makeKey('other')
  assert.match(faultsAfter((copy) => signChecksums(copy, other)).join(), /is not signed by/)
  assert.deepEqual(
    faultsAfter((copy) => rmSync(join(copy, signatureFile))),
    [`${signatureFile} is missing`],
  )
})

test('a signature of the same key for another purpose is refused', () => {
  const faults = faultsAfter((copy) => {
    rmSync(join(copy, signatureFile))
    execFileSync('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', 'git', join(copy, checksumsFile)], {
      stdio: 'ignore',
    })
  })
  assert.match(faults.join(), /is not signed by/)
})

test('the notes are the section of the version, or Unreleased', () => {
  const changelog = '# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0\n\n- first\n'
  assert.equal(notesOf(changelog, '0.1.0'), '# PoHF 0.1.0\n\n- first\n')
  assert.equal(notesOf(changelog, '0.2.0'), '# PoHF 0.2.0\n\n- new\n')
  assert.throws(() => notesOf('# Changelog\n', '0.1.0'), /no section/)
})

test('the bill of materials has our packages and every library that is not for development, and nothing of this machine', (t) => {
  const materials = readMaterials()
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile
  const listed = new Map(materials.components.map((component) => [component['bom-ref'], component]))
  const libraries = Object.entries(packages).filter(
    ([place, { link, dev }]) => place.includes('node_modules/') && !link && !dev,
  )
  t.diagnostic(`${listed.size} components, ${libraries.length} libraries in the lockfile`)
  assert.ok(libraries.length >= 100)
  for (const [place, { version, integrity }] of libraries) {
    const ref = `${place.slice(place.lastIndexOf('node_modules/') + 13)}@${version}`
    assert.ok(listed.has(ref), ref)
    if (integrity !== undefined) assert.ok('hashes' in (listed.get(ref) ?? {}), ref)
  }
  assert.equal(materials.metadata.component.name, 'pohf-workspace')
  for (const name of ['pohf', '@pohf/server', '@pohf/verify']) assert.ok(listed.has(`${name}@0.1.0`), name)
  assert.ok(![...listed.keys()].some((ref) => ref.startsWith('prettier@')))
  assert.ok(!JSON.stringify(materials).includes(root))
})
