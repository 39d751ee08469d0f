import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startNode } from '../../../test/fixtures/processes/child-processes.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { fileBackend } from '../backend.ts'
import { KeyFolderInUse, lockKeyFolder } from './key-folder-lock.ts'
import { requireKeyFolder } from './key-folder.ts'
import { openKeyring } from '../keyring.ts'
import { openManifestFiles } from '../manifest/files.ts'
import { signerIdOf } from '../signer-id.ts'
import { WrongDatabase, openTimelines } from '../timelines.ts'

const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-folder-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const main = fileURLToPath(new URL('../../main.ts', import.meta.url))
const startSigner = (dataDir: string, environment: Record<string, string> = {}) =>
  startNode([main, 'signer'], { DATA_DIR: dataDir, ...environment })

test('a second signer on one folder does not start and says what to do; a killed one releases the folder', async () => {
  const dataDir = makeFolder()
  const keysDir = join(dataDir, 'keys')
  const first = startSigner(dataDir)
  await pollUntil('the first is ready', async () => first.out().includes('signer ready'))
  assert.throws(() => lockKeyFolder(keysDir), KeyFolderInUse)
  const second = startSigner(dataDir, { SIGNER_SOCKET: join(dataDir, 'second.sock') })
  assert.equal(await second.exited, 1)
  assert.match(
    second.errors(),
    /Another signer uses the key folder .* Stop that signer first, or set KEYS_DIR/,
  )
  first.child.kill('SIGKILL')
  await first.exited
  const lock = lockKeyFolder(keysDir)
  assert.throws(() => lockKeyFolder(keysDir), KeyFolderInUse)
  lock.release()
  lockKeyFolder(keysDir).release()
})

const makeKeys = (folder: string) => {
  const backend = fileBackend(join(folder, 'private'))
  const keyring = openKeyring({ folder, backend, clock: { now: () => new Date() }, cell: 'aa' })
  keyring.close()
  return keyring.keys.manifests.admission() ?? assert.fail()
}

test('a key folder that is empty or of another deployment stops the start; the first start and the right folder do not', async () => {
  const dataDir = makeFolder()
  const keysDir = join(dataDir, 'keys')
  const folders = { DATA_DIR: dataDir, KEYS_DIR: keysDir }
  requireKeyFolder(folders)
  const admission = makeKeys(keysDir)
  requireKeyFolder(folders)
  // What the api of this machine remembers from its first contact on.
  openManifestFiles(join(dataDir, 'manifests'), admission)
  requireKeyFolder(folders)
  assert.match(signerIdOf(keysDir), /^sgn_[0-9a-f]{16}$/)
  assert.equal(signerIdOf(keysDir), signerIdOf(keysDir))

  const stranger = makeFolder()
  makeKeys(stranger)
  assert.throws(
    () => requireKeyFolder({ ...folders, KEYS_DIR: stranger }),
    /belongs to another deployment.*published keys before/s,
  )
  cpSync(keysDir, join(dataDir, 'backup'), { recursive: true })
  rmSync(keysDir, { recursive: true })
  const child = startSigner(dataDir)
  assert.equal(await child.exited, 1)
  assert.match(
    child.errors(),
    /holds no keys, but this deployment has published keys before[^]*restore it from its backup/,
  )
  cpSync(join(dataDir, 'backup'), keysDir, { recursive: true })
  requireKeyFolder(folders)
})

test('a signer refuses a lower timeline and a foreign cluster, also after a restart', () => {
  const folder = makeFolder()
  const timelines = openTimelines(folder)
  timelines.check({ system: '71', timeline: 3 })
  timelines.check({ system: '71', timeline: 3 })
  timelines.check({ system: '71', timeline: 5 })
  for (const signer of [timelines, openTimelines(folder)]) {
    assert.throws(() => signer.check({ system: '71', timeline: 4 }), WrongDatabase)
    assert.throws(() => signer.check({ system: '72', timeline: 9 }), WrongDatabase)
    for (const wrong of [
      undefined,
      {},
      { system: '71' },
      { system: 71, timeline: 5 },
      { system: '71', timeline: 0 },
    ])
      assert.throws(() => signer.check(wrong))
    signer.check({ system: '71', timeline: 5 })
  }
  timelines.forget()
  openTimelines(folder).check({ system: '72', timeline: 1 })
})
