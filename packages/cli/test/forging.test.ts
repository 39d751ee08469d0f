import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeIssuer, origin } from '../../verify/test/issuer.ts'

const issuer = makeIssuer()
const folder = mkdtempSync(join(tmpdir(), 'pohf-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const write = (name: string, content: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}
const jwks = write('jwks.json', issuer.jwks)
const table = write('table.json', { table: issuer.forgingToken() })

const pohf = async (...parameters: readonly string[]) => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, ...parameters, '--issuer', origin, '--jwks', jwks])
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}
const verify = (jwt: string, ...more: readonly string[]) =>
  pohf('verify', jwt, '--kinds', 'view', '--min-assurance', 'low', '--min-quality', '0.5', ...more)

test('pohf forging shows the table and computes it again', async () => {
  const { out, code } = await pohf('forging', '--forging-table', table)
  assert.equal(code, 0)
  assert.match(out, /An estimate, not a warranty/)
  assert.match(out, /^F0 {2}network +low +view +about 0\.1 USD or more \(script\)$/m)
  assert.match(out, /the same\.\n$/)
  const { out: json } = await pohf('forging', '--forging-table', table, '--json')
  assert.equal(JSON.parse(json).perDay, 10_000)
})

test('pohf forging ends with exit code 1 if the entries do not follow from the inputs or the table is not usable, with 2 for another file', async () => {
  const dear = { kind: '*', root: 'network', assurance: 'low', costPer1000: 1_000, class: 'F4', family: 'x' }
  const dishonest = write('dishonest.json', { table: issuer.forgingToken({ entries: [dear] }) })
  const wrong = await pohf('forging', '--forging-table', dishonest)
  assert.equal(wrong.code, 1)
  assert.match(wrong.out, /NOT the same/)
  const old = write('old.json', { table: issuer.forgingToken({ iat: 1_000, exp: 2_000 }) })
  const expired = await pohf('forging', '--forging-table', old)
  assert.equal(expired.code, 1)
  assert.match(expired.err, /expired on 1970-01-01/)
  const none = await pohf('forging', '--forging-table', jwks)
  assert.equal(none.code, 2)
  assert.match(none.err, /does not hold the answer/)
})

test('pohf verify --min-forging accepts from the class on, refuses below it, and names its misuse', async () => {
  const view = issuer.mint('view', { root: { kind: 'network' } })
  const good = await verify(view, '--forging-table', table, '--min-forging', 'F0')
  assert.equal(good.code, 0, good.out + good.err)
  assert.match(good.out, /✓ forging +F0/)
  const cheap = await verify(view, '--forging-table', table, '--min-forging', 'F2')
  assert.equal(cheap.code, 1)
  assert.match(cheap.out, /Refused: forging_too_cheap/)
  const unknown = await verify(issuer.mint('view'), '--forging-table', table, '--min-forging', 'F0')
  assert.match(unknown.out, /Refused: forging_unknown/)
  assert.equal((await verify(view, '--forging-table', table, '--min-forging', 'F7')).code, 2)
})
