import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * runc, because crun needs cgroups that are not everywhere. The limits are set because the default ones are above what a
 * machine may allow.
 */
const settings = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
`

/** Writes the settings of podman and buildah for this process and its children. */
export const configurePodman = (): void => {
  const file = join(mkdtempSync(join(tmpdir(), 'pohf-podman-')), 'containers.conf')
  writeFileSync(file, settings)
  process.env['CONTAINERS_CONF'] = file
}

type RunOptions = { readonly timeoutMs?: number }

/** Runs a command and returns what it printed; throws with its last lines where it fails. */
export const run = (command: string, parameters: readonly string[], options: RunOptions = {}): string => {
  const { status, signal, stdout, stderr } = spawnSync(command, parameters, {
    encoding: 'utf8',
    maxBuffer: 256 * 1_024 * 1_024,
    timeout: options.timeoutMs ?? 120_000,
  })
  if (status === 0) return stdout.trim()
  const lines = `${stdout ?? ''}${stderr ?? ''}`.trimEnd().split('\n').slice(-40).join('\n')
  throw new Error(
    `${command} ${parameters.slice(0, 4).join(' ')} … ended with ${status ?? signal}:\n${lines}`,
  )
}

export const podman = (...parameters: readonly string[]): string => run('podman', parameters)

export const hasImage = (name: string): boolean => spawnSync('podman', ['image', 'exists', name]).status === 0

export const imageBytes = (name: string): number =>
  Number(podman('image', 'inspect', '--format', '{{.Size}}', name))
