import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inputsRootOf, methods, sortedInputs } from '@pohf/verify/vhh'
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

const pseudonym = (n: number) => `p${String(n).padStart(15, '0')}`
const inputs = sortedInputs({
  code: 'VHH',
  epoch: '2026-10',
  method: 'vhh-1',
  rows: Array.from({ length: 12 }, (_, n) => ({
    cluster: pseudonym(n),
    units: 10,
    seconds: 36_000,
    usdMicro: 150_000_000 + n * 1_000_000,
  })),
  workers: Array.from({ length: 30 }, (_, n) => pseudonym(n)),
})

/** A signed month as a service publishes it. */
const download = async (by: 'epoch' | 'live' = 'epoch') => {
  const computed = methods['vhh-1']?.(inputs)
  assert.ok(computed && computed.usdCents !== null)
  const epoch = {
    code: 'VHH',
    epoch: '2026-10',
    value: computed.usdCents / 100,
    status: computed.status,
    method: 'vhh-1',
    inputs: computed.inputs,
    inputsRoot: await inputsRootOf(inputs),
  }
  const payload = { iss: origin, iat: 1_800_000_000, ...epoch }
  const jws = issuer.signAny(by, issuer.headerOf(by, 'vhh-epoch+jwt'), payload)
  return { epoch: { ...epoch, jws }, inputs }
}

const verify = async (file: string, ...more: readonly string[]) => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const call = [main, 'index', 'verify', file, '--issuer', origin, '--jwks', jwks, ...more]
  const child = spawn(process.execPath, call)
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}

test('pohf index verify computes a downloaded month again, offline', async () => {
  const { out, code } = await verify(write('month.json', await download()))
  assert.equal(code, 0)
  assert.match(out, /✓ signature/)
  assert.match(out, /✓ root/)
  assert.match(out, /✓ value +15\.50 USD for an hour by vhh-1/)
  assert.match(out, /Verified: VHH 2026-10/)
  const { out: json } = await verify(write('month.json', await download()), '--json')
  assert.equal(JSON.parse(json).ok, true)
})

test('pohf index verify ends with exit code 1 for changed inputs and for a key of another purpose, with 2 for another file', async () => {
  const changed = structuredClone(await download()) as unknown as {
    inputs: { rows: { seconds: number }[] }
  }
  const [row] = changed.inputs.rows
  assert.ok(row)
  row.seconds += 1
  const { out, code } = await verify(write('changed.json', changed))
  assert.equal(code, 1)
  assert.match(out, /✗ root/)
  assert.equal((await verify(write('wrong-key.json', await download('live')))).code, 1)
  const other = await verify(write('other.json', { other: 1 }))
  assert.equal(other.code, 2)
  assert.match(other.err, /holds no month of the index/)
})
