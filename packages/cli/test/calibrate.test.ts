import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { actionBytes, firstLinkBytes, linkBytes, thumbprintText } from '@pohf/protocol/telemetry'
import { makeFindCalibration, readCalibrations } from '../../server/src/evidence/scoring/calibrations.ts'
import { leafOf, recordKey, sealRecord } from '../../server/src/sessions/recording/records.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-calibrate-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()

/** A recording of one chunk, as the API opens it, with five strokes of 0.9 s that bend by `bend`. */
const recordingOf = (sessionId: string, bend: number) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const [site, kind, nonce] = ['agt_1', 'view', sha256(sessionId)]
  const strokes = Array.from({ length: 5 }, (_, number) => {
    const points = Array.from({ length: 60 }, (_unused, step) => {
      const along = step / 59
      const eased = along * along * (3 - 2 * along)
      return [Math.round(eased * 600), Math.round(Math.sin(along * 3) * bend + number * 9 * along)]
    })
    const steps = points.slice(1).flatMap(([px = 0, py = 0], index) => {
      const [lastX = 0, lastY = 0] = points[index] ?? []
      return [15, px - lastX, py - lastY]
    })
    return ['m', 400, 'm', 1, 60, [0, 0, ...steps]]
  })
  const env = { webdriver: false, width: 9, height: 9, touchPoints: 0, reducedMotion: false, coalesces: true }
  const times = { t0: 0, t1: 9_000, last: { n: 1, ms: 9_000 } }
  const token = 'r'.repeat(22)
  const chunk = JSON.stringify({ v: 1, seq: 1, receipt: token, ...times, env, ev: strokes })
  const jkt = sha256(thumbprintText({ x, y })).toString('base64url')
  const first = sha256(
    firstLinkBytes({ nonce, jkt, sessionId, actionHash: sha256(actionBytes({ site, kind })) }),
  )
  const link = sha256(linkBytes(first, 1, sha256(chunk)))
  const signature = sign('sha256', link, { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  const key = recordKey(sha256('subject'), sessionId, 1)
  const after_ = { at: 0, token, probe: null }
  const ciphertext = sealRecord(key, { v: 1, seq: 1, chunk, signature, receivedAt: 9_050, after: after_ })
  return {
    sessionId,
    telemetry: {
      alg: 'sha256-chain-v1',
      link: link.toString('base64url'),
      root: leafOf(ciphertext).toString('base64url'),
      n: 1,
    },
    opening: {
      nonce: nonce.toString('base64url'),
      key: { kty: 'EC', crv: 'P-256', x, y },
      site,
      kind,
      workflowId: null,
      challenge: null,
    },
    chunks: [
      { seq: 1, ciphertext: ciphertext.toString('base64url'), key: key.toString('base64url'), proof: [] },
    ],
    nextFrom: null,
  }
}

const out = join(folder, 'calibrations.json')
const calibrate = (from: string, platform: string) =>
  spawnSync(
    process.execPath,
    [
      fileURLToPath(new URL('../src/main.ts', import.meta.url)),
      'calibrate',
      from,
      '--platform',
      platform,
      '--out',
      out,
    ],
    { encoding: 'utf8' },
  )
const fill = (name: string, people: number, each: number): string => {
  const root = join(folder, name)
  for (let person = 0; person < people; person += 1) {
    mkdirSync(join(root, `person-${person}`), { recursive: true })
    for (let take = 0; take < each; take += 1)
      writeFileSync(
        join(root, `person-${person}`, `${take}.json`),
        JSON.stringify(recordingOf(`ses_${person}_${take}`, 20 + person * 13 + take * 7)),
      )
  }
  return root
}

test('five people with four recordings each make a row that the server reads', () => {
  const { status, stdout, stderr } = calibrate(fill('enough', 5, 4), 'linux')
  assert.equal(status, 0, stderr)
  assert.match(stdout, /20 sessions of 5 people/)
  const [row] = readCalibrations(out)
  assert.ok(row && row.platform === 'linux' && row.people === 5 && row.pMin >= 0 && row.pMin < 1)
  const find = makeFindCalibration(out)
  assert.deepEqual(find('linux'), { pointer: 'mouse', pMin: row.pMin })
  assert.equal(find('windows'), null, 'people on one platform say nothing about another')
  assert.equal(calibrate(join(folder, 'enough'), 'mac').status, 0)
  assert.equal(calibrate(join(folder, 'enough'), 'linux').status, 0)
  assert.deepEqual(
    readCalibrations(out)
      .map(({ platform }) => platform)
      .toSorted(),
    ['linux', 'mac'],
  )
})

test('a row of another model does not count', () => {
  const rows = JSON.parse(readFileSync(out, 'utf8')) as object[]
  const old = join(folder, 'old.json')
  writeFileSync(old, JSON.stringify(rows.map((row) => ({ ...row, model: 'input-1999.01' }))))
  assert.equal(makeFindCalibration(old)('linux'), null)
})

test('too few people, a changed recording and an unknown platform are refused, and nothing is written', () => {
  const before = readFileSync(out, 'utf8')
  const few = calibrate(fill('few', 4, 6), 'linux')
  assert.equal(few.status, 1)
  assert.match(few.stderr, /at least 20 of 5/)
  const root = fill('changed', 5, 4)
  const file = join(root, 'person-3', '2.json')
  const opened = JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof recordingOf>
  writeFileSync(file, JSON.stringify({ ...opened, sessionId: 'ses_other' }))
  const changed = calibrate(root, 'linux')
  assert.equal(changed.status, 1)
  assert.match(changed.stderr, /person-3\/2\.json/)
  assert.equal(calibrate(join(folder, 'enough'), 'amiga').status, 1)
  assert.equal(readFileSync(out, 'utf8'), before)
})
