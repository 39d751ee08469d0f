import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './dockerfile.ts'
import { podman } from './podman.ts'
import { expect } from './statements.ts'

export const databasePassword = 'readableOnlyInItsFile'

/** Writes what deploy/compose.yml expects beside itself: the settings and the secrets. */
export const writeSettings = (folder: string, settings: readonly string[]): void => {
  mkdirSync(join(folder, 'secrets'), { mode: 0o700 })
  const secrets = {
    'postgres-password': 'administrator',
    'database-password': databasePassword,
    'database-url': `postgres://pohf:${databasePassword}@database:5432/pohf`,
  }
  for (const [name, value] of Object.entries(secrets))
    writeFileSync(join(folder, 'secrets', name), `${value}\n`, { mode: 0o444 })
  // The suite registers more agents than one address may in an hour.
  const lines = [...settings, 'ADDRESS_LIMITS=off', 'LOG_LEVEL=warn']
  writeFileSync(join(folder, 'pohf.env'), `${lines.join('\n')}\n`)
  writeFileSync(join(folder, 'signer.env'), 'LOG_LEVEL=info\n')
}

export type Conformance = Readonly<Record<'passed' | 'failed' | 'skipped', number>>

/**
 * Runs the conformance suite in the network of a container: a machine that filters its outgoing connections may also filter
 * those to the containers.
 */
export const runConformance = (container: string, baseUrl: string): Conformance => {
  const pid = podman('inspect', '--format', '{{.State.Pid}}', container)
  const { status, stdout, stderr } = spawnSync(
    'nsenter',
    ['--target', pid, '--net', process.execPath, 'conformance/src/main.ts', '--base-url', baseUrl, '--json'],
    { cwd: repositoryRoot, encoding: 'utf8', timeout: 300_000, maxBuffer: 64 * 1_024 * 1_024 },
  )
  const last = stdout.trimEnd().split('\n').at(-1) ?? ''
  if (status !== 0) console.log(`${stdout}${stderr}`)
  const counts = JSON.parse(last) as Conformance
  expect(status === 0 && counts.failed === 0, `conformance of ${container}: ${last}`)
  return counts
}
