import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeIssuer, organization, origin, rootsOf } from '../../verify/test/issuer.ts'

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
  assert.match(out, /^root +level +acts +10 a day +1 a day +people$/m)
  assert.match(out, /^network +low +F0 0\.1 +F0 0\.1 +F0 0\.1 +F0 0\.1$/m)
  assert.match(out, /^world_id +high +F0 0\.1 +F0 0\.1 +F1 1 +F4 1000$/m)
  assert.match(out, /^organization +named +named +named +named +named$/m)
  assert.match(out, /the same\.\n$/)
  const work = await pohf('forging', '--forging-table', table, '--kind', 'work')
  assert.match(work.out, /^network +low +F2 10 /m)
  const unknown = await pohf('forging', '--forging-table', table, '--kind', 'approval')
  assert.equal(unknown.code, 2)
  assert.match(unknown.err, /work, view, presence, personhood, binding, purchase/)
  const { out: json } = await pohf('forging', '--forging-table', table, '--json')
  assert.equal(JSON.parse(json).perDay, 10_000)
})

test('pohf forging ends with exit code 1 if the entries do not follow from the inputs or the table is not usable, with 2 for another file', async () => {
  const price = { usd: 1_000, class: 'F4' }
  const dear = {
    kind: 'view',
    root: 'network',
    level: 'low',
    actsB: price,
    acts10: price,
    acts1: price,
    humans: price,
  }
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
  const view = issuer.mint('view', { roots: rootsOf('network') })
  const good = await verify(view, '--forging-table', table, '--min-forging', 'F0')
  assert.equal(good.code, 0, good.out + good.err)
  assert.match(good.out, /✓ forging +acts: F0, about 0\.1 USD for 1,000; distinct humans: not counted/)
  const cheap = await verify(view, '--forging-table', table, '--min-forging', 'F2')
  assert.equal(cheap.code, 1)
  assert.match(cheap.out, /Refused: forging_too_cheap/)
  const unknown = await verify(issuer.mint('view'), '--forging-table', table, '--min-forging', 'F0')
  assert.match(unknown.out, /Refused: forging_unknown/)
  assert.equal((await verify(view, '--forging-table', table, '--min-forging', 'F7')).code, 2)
})

const judge = async (roots: readonly string[], ...more: readonly string[]) => {
  const claims = { roots: rootsOf(...roots), limit: { perHumanDay: 1 } }
  const { out, err, code } = await verify(issuer.mint('view', claims), '--forging-table', table, ...more)
  return code === 0 ? 'accepted' : (/Refused: (\w+)/.exec(out)?.[1] ?? err)
}

test('pohf verify demands a price of people, trusts issuers that are named, and counts limits of agents that are pinned', async () => {
  assert.equal(await judge(['network'], '--min-forging-human', 'F0'), 'not_counted')
  assert.equal(await judge(['sms'], '--min-forging-human', 'F3'), 'accepted')
  assert.equal(await judge(['sms'], '--min-forging-human', 'F4'), 'forging_too_cheap_human')
  const named = ['--min-forging-human', 'F4', '--trusted-issuer', 'https://other.example']
  assert.equal(await judge(['organization'], ...named), 'forging_too_cheap_human')
  assert.equal(await judge(['organization'], ...named, '--trusted-issuer', organization), 'accepted')
  const limited = ['--min-forging', 'F2', '--pinned-agent']
  assert.equal(await judge(['sms'], ...limited, 'agt_other'), 'forging_too_cheap')
  assert.equal(await judge(['sms'], ...limited, 'agt_aa0123456789'), 'accepted')
})

const approve = (...more: readonly string[]) =>
  pohf(
    'verify',
    issuer.mint('approval'),
    '--kinds',
    'approval',
    '--min-assurance',
    'low',
    '--min-quality',
    '0',
    ...more,
  )

test('pohf verify judges the people who decided, and an option without their account is a misuse', async () => {
  const enrolled = ['--enrolled-by', 'agt_aa0123456789']
  const demands = [
    '--min-approvers',
    '2',
    '--key-bound',
    '--min-key-age-days',
    '1',
    '--min-shown-seconds',
    '10',
  ]
  assert.equal((await approve(...enrolled, ...demands)).code, 0)
  assert.match((await approve(...enrolled, '--min-approvers', '3')).out, /Refused: too_few_approvers/)
  assert.match((await approve('--enrolled-by', 'agt_other')).out, /Refused: not_enrolled_by/)
  assert.match((await approve('--min-forging', 'F1')).out, /Refused: approval_policy_missing/)
  for (const wrong of [
    ['--key-bound'],
    [...enrolled, '--min-approvers', ''],
    [...enrolled, '--min-key-age-days', 'x'],
  ])
    assert.equal((await approve(...wrong)).code, 2, wrong.join(' '))
})
