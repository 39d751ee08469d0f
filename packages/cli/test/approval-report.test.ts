import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { shareOf } from '@pohf/verify/approvals'
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

const method = 'approval-report-1'
const report = {
  from: '2026-10-01T00:00:00.000Z',
  to: '2026-11-01T00:00:00.000Z',
  requests: 40,
  expired: 0,
  consumed: 30,
  team: { caught: { ...shareOf(20, 24) }, fast: { ...shareOf(2, 30) } },
  perPerson: null,
}
const payload = { iss: origin, iat: 1_800_000_000, sub: 'agt_1', mode: 'live', method, report }
const pack = {
  report,
  method,
  jws: issuer.signAny('report', issuer.headerOf('report', 'approval-report+jwt'), payload),
}

const verify = async (file: string) => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const call = [main, 'approvals', 'audit', file, '--issuer', origin, '--jwks', jwks]
  const child = spawn(process.execPath, call)
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('close', resolve)),
  ])
  return { out, err, code }
}

test('an auditor verifies an evidence pack offline, and one whose figures were changed is refused', async () => {
  const good = await verify(write('good.json', pack))
  assert.equal(good.code, 0, good.err)
  assert.match(good.out, /Verified: approvals of agt_1, live mode, from 2026-10-01/)
  const changed = await verify(write('changed.json', { ...pack, report: { ...report, consumed: 40 } }))
  assert.notEqual(changed.code, 0)
  assert.match(changed.out, /✗ answer/)
  const other = await verify(write('other.json', { other: 1 }))
  assert.match(other.err, /holds no evidence pack/)
})
