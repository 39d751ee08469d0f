import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import * as fc from 'fast-check'
import { startNode } from '../../../test/fixtures/processes/child-processes.ts'
import { loadSecrets, openFor, sealFor } from './secrets.ts'

const makeFolder = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-secrets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const modeOf = (path: string) => statSync(path).mode & 0o777

test('eight processes that start at once make one secret, whole and readable by the owner alone', async (t) => {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  const go = join(folder, 'go')
  const program = `
    import { existsSync } from 'node:fs'
    import { loadSecrets } from ${JSON.stringify(new URL('secrets.ts', import.meta.url).href)}
    process.stdout.write('ready ')
    const wait = () => existsSync(${JSON.stringify(go)})
      ? process.stdout.write(loadSecrets(${JSON.stringify(dataDir)}).derive('pairwise').toString('hex'))
      : setImmediate(wait)
    wait()`
  const runs = Array.from({ length: 8 }, () => startNode(['--input-type=module', '-e', program], {}))
  await Promise.all(
    runs.map((run) => new Promise<void>((resolve) => run.child.stdout?.once('data', () => resolve()))),
  )
  writeFileSync(go, '')
  assert.deepEqual(
    await Promise.all(runs.map((run) => run.exited)),
    runs.map(() => 0),
  )
  const derived = runs.map((run) => run.out().replace('ready ', ''))
  assert.match(derived[0] ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual([...new Set(derived)], [loadSecrets(dataDir).derive('pairwise').toString('hex')])
  assert.deepEqual(readdirSync(dataDir), ['master.key'])
  assert.equal(modeOf(join(dataDir, 'master.key')), 0o600)
  assert.equal(modeOf(dataDir), 0o700)
})

test('the secret is made once: a later start reads it and changes nothing', (t) => {
  const folder = makeFolder(t)
  const first = loadSecrets(folder)
  const text = readFileSync(join(folder, 'master.key'), 'utf8')
  assert.deepEqual(loadSecrets(folder).derive('pairwise'), first.derive('pairwise'))
  assert.equal(readFileSync(join(folder, 'master.key'), 'utf8'), text)
  assert.ok(Buffer.from(text.trim(), 'base64url').length >= 32)
  assert.notDeepEqual(loadSecrets(makeFolder(t)).derive('pairwise'), first.derive('pairwise'))
})

test('a secret file that is empty, cut or not ours stops the start instead of giving a weak secret', (t) => {
  const folder = makeFolder(t)
  for (const text of ['', '\n', 'c2hvcnQ', 'x'.repeat(42), 'x'.repeat(44), '!'.repeat(43)]) {
    writeFileSync(join(folder, 'master.key'), text)
    assert.throws(() => loadSecrets(folder), /master\.key/, JSON.stringify(text))
    assert.equal(readFileSync(join(folder, 'master.key'), 'utf8'), text)
  }
})

test('purposes have keys of their own', (t) => {
  const secrets = loadSecrets(makeFolder(t))
  assert.notDeepEqual(secrets.derive('pairwise'), secrets.derive('worker'))
  assert.equal(secrets.derive('pairwise').length, 32)
  assert.throws(() => secrets.open('webhook', secrets.seal('mail', 'text')))
  // @ts-expect-error a purpose that secret-purposes.ts does not describe does not compile
  assert.equal(secrets.derive('undescribed').length, 32)
  // @ts-expect-error nor does a key that a rotation ends, where a kept one is expected
  assert.equal(secrets.derive('vt').length, 32)
})

test('what is sealed opens to the same text, and never looks the same twice', (t) => {
  const secrets = loadSecrets(makeFolder(t))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const sealed = secrets.seal('mail', text)
      assert.equal(secrets.open('mail', sealed), text)
      assert.equal(openFor('svc_live_x', sealFor('svc_live_x', text)), text)
      assert.notEqual(secrets.seal('mail', text), sealed)
    }),
  )
})

test('a sealed text that was changed or cut anywhere is refused, and so is another key', () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 40 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (text, place, flip) => {
        const sealed = Buffer.from(sealFor('one', text), 'base64url')
        const position = place % sealed.length
        const changed = Buffer.from(sealed)
        changed[position] = (changed[position] ?? 0) ^ flip
        assert.throws(() => openFor('one', changed.toString('base64url')))
        assert.throws(() => openFor('one', sealed.subarray(0, position).toString('base64url')))
        assert.throws(() => openFor('two', sealed.toString('base64url')))
      },
    ),
    { numRuns: 1_000 },
  )
})
