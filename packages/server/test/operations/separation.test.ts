import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { freePort } from '../../dev/cluster.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { inheritedEnvironment } from '../fixtures/processes/child-processes.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

type User = { readonly uid: number; readonly gid: number }
const userOf = (name: string): User | undefined => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}
const signerUser = userOf('nobody')
const apiUser = userOf('daemon')
/** Tries, as this user, and says what the system said. */
const tryAs = (user: User, program: string): string =>
  spawnSync(process.execPath, ['-e', program], { ...user, cwd: '/', encoding: 'utf8' }).stdout.trim()
const readAs = (user: User, path: string) =>
  tryAs(
    user,
    `try { require('fs').readFileSync(${JSON.stringify(path)}); console.log('read') } catch (e) { console.log(e.code) }`,
  )
const listAs = (user: User, path: string) =>
  tryAs(
    user,
    `try { require('fs').readdirSync(${JSON.stringify(path)}); console.log('read') } catch (e) { console.log(e.code) }`,
  )
const connectAs = (user: User, path: string) =>
  tryAs(
    user,
    `require('net').connect(${JSON.stringify(path)}).on('connect', function () { console.log('open'); this.destroy() }).on('error', (e) => console.log(e.code))`,
  )
const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

const missing =
  process.getuid?.() !== 0
    ? 'only root can start processes as two other users'
    : signerUser === undefined || apiUser === undefined
      ? 'there are no users nobody and daemon'
      : [signerUser, apiUser].some((user) => readAs(user, main) !== 'read')
        ? 'this checkout is in a folder that other users cannot enter'
        : undefined

if (missing !== undefined || signerUser === undefined || apiUser === undefined) {
  test('signer and api as two users', { skip: missing ?? 'no users' })
} else {
  const root = mkdtempSync(join(tmpdir(), 'pohf-users-'))
  const { url, drop } = await makeDatabase()
  const children: ChildProcess[] = []
  after(async () => {
    // The api first: a signer waits for the api that is connected to it.
    for (const child of children.toReversed().filter((each) => !hasEnded(each))) {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await ended
    }
    await drop()
    rmSync(root, { recursive: true, force: true })
  })
  chmodSync(root, 0o755)
  const folder = (name: string, { uid, gid }: User, mode: number) => {
    const path = join(root, name)
    mkdirSync(path)
    chownSync(path, uid, gid)
    chmodSync(path, mode)
    return path
  }
  const keysDir = folder('keys', signerUser, 0o700)
  const dataDir = folder('data', apiUser, 0o700)
  // Owned by the signer, of the api's group, set-group-ID: what is made in it belongs to that group.
  const runDir = folder('run', { uid: signerUser.uid, gid: apiUser.gid }, 0o2750)
  const socketPath = join(runDir, 'signer.sock')
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`

  const start = (role: string, user: User, settings: Record<string, string>) => {
    const child = spawn(process.execPath, [main, role], {
      ...user,
      cwd: '/',
      env: { ...inheritedEnvironment, LOG_LEVEL: 'error', SIGNER_SOCKET: socketPath, ...settings },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    children.push(child)
  }
  // The signer is told no database, the api no folder of keys that it could enter.
  start('signer', signerUser, { KEYS_DIR: keysDir, SIGNER_SOCKET_MODE: '0660' })
  start('api', apiUser, {
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
  })
  const isReady = () =>
    fetch(`${baseUrl}/readyz`).then(
      (response) => response.ok,
      () => false,
    )
  const isReadyWhileAllRun = async () => {
    assert.ok(!children.some(hasEnded), 'signer and api run')
    return isReady()
  }
  // Processes start slowly on a busy machine.
  await pollUntil('the api is ready', isReadyWhileAllRun, 120_000)

  const post = async (path: string, body: object, key?: string) => {
    const response = await fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, string>
  }

  test('an api that runs as another user than the signer mints', async () => {
    const { apiKey } = await post('/api/agents/register', {
      name: 'Test',
      contactEmail: 'dev@example.com',
      mode: 'test',
    })
    const { pohf_jwt: jwt } = await post('/api/agents/verify', { sessionId: 'any' }, apiKey)
    assert.ok(jwt)
    const { payload } = await jwtVerify(jwt, createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`)))
    assert.equal(payload.iss, `${baseUrl}/test`)
  })

  test('as the user of the api no key, state or journal can be read; as that of the signer they can', () => {
    const keyFiles = readdirSync(join(keysDir, 'private')).map((name) => join(keysDir, 'private', name))
    const journal = readdirSync(join(keysDir, 'journal')).map((name) => join(keysDir, 'journal', name))
    assert.ok(keyFiles.length >= 4 && journal.length >= 1)
    for (const path of [...keyFiles, ...journal, join(keysDir, 'keyring.json')]) {
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.equal(readAs(apiUser, path), 'EACCES')
      assert.equal(readAs(signerUser, path), 'read')
    }
    assert.equal(listAs(apiUser, keysDir), 'EACCES')
  })

  test('as the user of the signer the secrets of the api cannot be read', () => {
    assert.equal(readAs(signerUser, join(dataDir, 'master.key')), 'EACCES')
    assert.equal(readAs(apiUser, join(dataDir, 'master.key')), 'read')
  })

  test('the socket opens for the group of the api and for nobody else', () => {
    const { mode, uid, gid } = statSync(socketPath)
    assert.deepEqual([mode & 0o777, uid, gid], [0o660, signerUser.uid, apiUser.gid])
    assert.equal(connectAs(apiUser, socketPath), 'open')
    assert.equal(connectAs({ uid: 12_345, gid: 12_345 }, socketPath), 'EACCES')
  })
}
