import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readDeployedCompose } from './compose.ts'
import { databaseHost, startCompose, type Images } from './compose-run.ts'
import { runConformance, writeSettings, type Conformance } from './conformance.ts'
import { podman } from './podman.ts'
import { expect } from './statements.ts'

const prefix = 'pohf-battery-single'
const name = `${prefix}-pohf`
/** On its loopback, the service offers test workflows, and the suite can receive webhooks. */
const baseUrl = 'http://127.0.0.1:3000'

/** As docs/operate/containers.md starts it. */
const confined =
  '--init --read-only --read-only-tmpfs=false --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges'.split(
    ' ',
  )

const start = async (): Promise<number> => {
  const at = performance.now()
  podman('start', name)
  while (spawnSync('podman', ['healthcheck', 'run', name]).status !== 0) {
    if (performance.now() - at > 120_000) throw new Error(`${name} is not ready:\n${podman('logs', name)}`)
    await setTimeout(100)
  }
  return (performance.now() - at) / 1_000
}

const stop = (): number => {
  const at = performance.now()
  podman('stop', '--time', '30', name)
  const seconds = (performance.now() - at) / 1_000
  const exitCode = podman('inspect', '-f', '{{.State.ExitCode}}', name)
  expect(
    exitCode === '0',
    `one container: stopped by SIGTERM in ${seconds.toFixed(1)} s, exit code ${exitCode}`,
  )
  return seconds
}

const remove = () => spawnSync('podman', ['rm', '--force', '--ignore', '--time', '5', name])

/** What podman itself makes in a container: the places of its mounts. */
const madeByPodman = /^[AC] \/(?:etc|etc\/mtab|run|run\/secrets|run\/secrets\/database-url|data)$/

export type SingleResult = Readonly<Record<'firstStartSeconds' | 'startSeconds' | 'stopSeconds', number>> & {
  readonly conformance: Conformance
}

/** Runs all roles in one container: confined, with the whole suite, and then with a writable root, to see what it writes. */
export const runSingle = async (images: Images): Promise<SingleResult> => {
  const compose = readDeployedCompose()
  const { database } = compose.services
  if (!database) throw new Error('deploy/compose.yml has no service database')
  const folder = mkdtempSync(join(tmpdir(), 'pohf-single-'))
  writeSettings(folder, [`BASE_URL=${baseUrl}`, 'HOST=127.0.0.1'])
  remove()
  const running = await startCompose(
    { ...compose, services: { database } },
    { folder, images, port: 0, prefix },
  )
  const create = (parameters: readonly string[]) =>
    podman(
      'create',
      `--name=${name}`,
      `--network=${prefix}-database`,
      ...databaseHost,
      ...parameters,
      `--env-file=${join(folder, 'pohf.env')}`,
      '--env=DATABASE_URL_FILE=/run/secrets/database-url',
      `--volume=${join(folder, 'secrets/database-url')}:/run/secrets/database-url:ro`,
      `--volume=${prefix}-data:/data`,
      images.pohf,
    )
  try {
    create(confined)
    const firstStartSeconds = await start()
    const conformance = runConformance(name, baseUrl)
    const stopSeconds = stop()
    const startSeconds = await start()
    remove()
    create([])
    await start()
    const changed = podman('diff', name)
      .split('\n')
      .filter((line) => line !== '' && !madeByPodman.test(line))
    expect(
      changed.length === 0,
      `with a writable root, written outside /data: ${changed.join(', ') || 'nothing'}`,
    )
    // The look is worth something only if it sees a file.
    podman('exec', '--user', '0', name, 'touch', '/app/planted')
    expect(podman('diff', name).includes('A /app/planted'), 'a planted file outside /data is seen')
    return { firstStartSeconds, startSeconds, stopSeconds, conformance }
  } finally {
    remove()
    running.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}
