import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sentencesOf, statementOf } from '../../protocol/src/credentials/statements.ts'
import { makeIssuer, origin } from '../../verify/test/issuer.ts'

const issuer = makeIssuer()
const folder = mkdtempSync(join(tmpdir(), 'pohf-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const jwks = join(folder, 'jwks.json')
writeFileSync(jwks, JSON.stringify(issuer.jwks))

const pohf = async (parameters: readonly string[], input = '') => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, 'verify', ...parameters])
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}
const demand = [
  '--issuer',
  origin,
  '--kinds',
  'view,work',
  '--min-assurance',
  'low',
  '--min-quality',
  '0.5',
  '--jwks',
  jwks,
]

test('a good credential ends with exit code 0 and says what was checked', async () => {
  const { out, code } = await pohf([issuer.mint('work'), ...demand])
  assert.equal(code, 0)
  assert.match(out, /✓ signature/)
  assert.match(out, /Accepted: work\n/)
})

const countOf = ([asked, hit]: number[]) => ({ asked, hit })
const mintAsked = (pictures: number[], words: number[]) =>
  issuer.mint('view', { probes: { pictures: countOf(pictures), words: countOf(words) } })

test('the questions of the act are printed by kind, and nothing is printed where the credential names none', async () => {
  assert.match(
    (await pohf([mintAsked([2, 1], [1, 1]), ...demand])).out,
    /Questions answered right: 1 of 2 with pictures, 1 of 1 in words\.\n/,
  )
  assert.match((await pohf([mintAsked([0, 0], [2, 2]), ...demand])).out, /right: 2 of 2 in words\.\n/)
  assert.doesNotMatch((await pohf([issuer.mint(), ...demand])).out, /Questions/)
  const malformed = await pohf([mintAsked([2], [1, 1]), ...demand])
  assert.match(malformed.out, /Refused: claims_malformed/)
})

test('a live credential is told in the words of every page, without a figure of attention', async () => {
  const at = 1_762_560_000
  const roots = [{ kind: 'network', class: 'address', counted: false, fresh: true, at }]
  const { out } = await pohf([issuer.mint('view', { roots, quality: 0.66 }), ...demand])
  for (const sentence of sentencesOf(statementOf({ kind: 'view', agent: '', roots })))
    assert.ok(out.includes(`\n${sentence}\n`), sentence)
  assert.match(out, /not measured/)
  const told = out.slice(out.indexOf('Accepted'))
  assert.doesNotMatch(told, /66/)
  const test = await pohf([issuer.mintTest('view', { roots }), '--allow-test', ...demand])
  assert.doesNotMatch(test.out, /Nothing else stands behind it/)
})

test('from standard input, with the answer as JSON and nothing else', async () => {
  const { out, code } = await pohf(['-', '--json', ...demand], `${issuer.mint()}\n`)
  assert.equal(code, 0)
  const answer = JSON.parse(out) as { ok: boolean; claims: { kind: string } }
  assert.ok(answer.ok)
  assert.equal(answer.claims.kind, 'view')
})

test('a refused credential ends with exit code 1 and names the reason', async () => {
  const test = await pohf([issuer.mintTest(), ...demand])
  assert.equal(test.code, 1)
  assert.match(test.out, /Refused: test_credential/)
  const allowed = await pohf([issuer.mintTest(), '--allow-test', ...demand])
  assert.equal(allowed.code, 0)
  assert.match(allowed.out, /no person was involved/)
  const garbage = await pohf(['garbage', ...demand])
  assert.equal(garbage.code, 1)
  assert.match(garbage.out, /✗ form/)
})

test('a call that leaves the policy out, or gives nonsense, checks nothing', async () => {
  const missing = await pohf([issuer.mint(), '--issuer', origin])
  assert.equal(missing.code, 2)
  assert.match(missing.err, /--kinds/)
  for (const wrong of [
    ['--kinds', 'human'],
    ['--min-quality', ''],
    ['--min-quality', 'high'],
    ['--status', 'maybe'],
    ['--max-age', 'x'],
  ]) {
    const { code, out } = await pohf([issuer.mint(), ...demand, ...wrong])
    assert.equal(code, 2, wrong.join(' '))
    assert.equal(out, '')
  }
})
