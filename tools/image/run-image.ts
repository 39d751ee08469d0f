// Builds deploy/Dockerfile on base images that are made here, runs the containers of deploy/compose.yml by podman, holds them
// against the specification, and looks at what they can do. As root, on Debian. npm run battery -- image [--report]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { build, makeBaseImages } from './base-images.ts'
import { checkCommands } from './commands.ts'
import { readDeployedCompose } from './compose.ts'
import { apiUrl, startCompose, type ComposeRun, type Images } from './compose-run.ts'
import { databasePassword, runConformance, writeSettings } from './conformance.ts'
import * as confinement from './confinement.ts'
import { dockerfilePath, repositoryRoot } from './dockerfile.ts'
import { configurePodman, imageBytes, podman, run } from './podman.ts'
import { writeImageReport, type ImageMeasurements } from './report.ts'
import { runSingle } from './single.ts'
import { expect, failures } from './statements.ts'
import { exposureOf, services, unitFolder } from './units.ts'
import { runUnits } from './units-run.ts'

const { values } = parseArgs({ options: { report: { type: 'boolean', default: false } } })
const packages = ['podman', 'buildah', 'runc', 'debootstrap', 'catatonit', 'systemd', 'iptables']
const image = 'localhost/pohf-battery/pohf:latest'
const prefix = 'pohf-battery'
const inContainer = (compose: ComposeRun, name: string, program: string): unknown =>
  JSON.parse(compose.execute(name, program))

type Status = Record<'user' | 'group' | 'noNewPrivileges' | 'systemCallFilter', string> & {
  readonly capabilities: readonly string[]
}

type Folders = { readonly seen: number; readonly writable: readonly string[] }

/** In memory, and in every container: shared memory and message queues. */
const inMemory = ['/dev/mqueue', '/dev/shm', '/tmp']
const writableFolders: Readonly<Record<string, readonly string[]>> = {
  signer: ['/keys', '/run/pohf', ...inMemory],
  api: ['/data', ...inMemory],
  worker: ['/data', ...inMemory],
}

const checkConfinement = (compose: ComposeRun): void => {
  for (const [name, allowed] of Object.entries(writableFolders)) {
    const status = inContainer(compose, name, confinement.statusProgram) as Status
    expect(status.user === (name === 'signer' ? '10002' : '10001'), `${name}: user ${status.user}, not root`)
    expect(
      status.capabilities.every((set) => /^0+$/.test(set)),
      `${name}: no capability`,
    )
    expect(status.noNewPrivileges === '1', `${name}: no new privileges`)
    expect(status.systemCallFilter === '2', `${name}: system calls are filtered`)
    const { seen, writable } = inContainer(compose, name, confinement.writableProgram) as Folders
    const outside = writable.filter((folder) => !allowed.some((top) => `${folder}/`.startsWith(`${top}/`)))
    expect(
      seen > 300 && outside.length === 0,
      `${name}: of ${seen} folders, writable outside ${allowed.join(' ')}: ${outside.join(' ') || 'none'}`,
    )
    expect(
      inContainer(compose, name, confinement.environmentProgram(databasePassword)) === false,
      `${name}: the password of the database is in no environment`,
    )
  }
  const networks = inContainer(compose, 'signer', confinement.networksProgram) as string[]
  expect(networks.join() === 'lo', `signer: network interfaces ${networks.join()}`)
  expect(inContainer(compose, 'api', confinement.imageProgram) === true, 'api: images are decoded')
}

const memoryOf = (compose: ComposeRun): ImageMeasurements['memory'] =>
  ['signer', 'api', 'worker'].map((name) => ({
    name,
    megabytes: Number(inContainer(compose, name, confinement.memoryProgram)),
  }))

const runContainers = async (images: Images) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-compose-'))
  const port = await freePort()
  writeSettings(folder, [`BASE_URL=${apiUrl}`])
  const at = performance.now()
  const compose = await startCompose(readDeployedCompose(), { folder, images, port, prefix })
  try {
    const startSeconds = (performance.now() - at) / 1_000
    console.log(`✓ five containers are ready after ${startSeconds.toFixed(1)} s`)
    checkConfinement(compose)
    checkCommands(compose)
    const conformance = runConformance(compose.container('api'), apiUrl)
    const memory = memoryOf(compose)
    const stops = compose.stop()
    for (const { name, seconds, exitCode } of stops)
      expect(exitCode === 0, `${name}: stopped in ${seconds.toFixed(1)} s with exit code ${exitCode}`)
    return { startSeconds, conformance, memory, stops }
  } finally {
    compose.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

execFileSync('bash', [join(repositoryRoot, 'tools/ci/debian-packages.sh'), ...packages], { stdio: 'inherit' })
configurePodman()
const base = makeBaseImages()
const buildAt = performance.now()
build({
  file: dockerfilePath,
  context: repositoryRoot,
  image,
  buildArguments: { NODE_IMAGE: base.node, RUNTIME_IMAGE: base.debian },
})
const buildSeconds = (performance.now() - buildAt) / 1_000
const sizes = {
  image: imageBytes(image),
  debian: imageBytes(base.debian),
  node: Number(
    podman('run', '--rm', '--entrypoint', 'node', image, '-p', "fs.statSync('/usr/local/bin/node').size"),
  ),
}
console.log(`✓ built in ${buildSeconds.toFixed(0)} s, ${Math.round(sizes.image / 1e6)} MB`)
const images = { pohf: image, postgres: base.postgres }
const containers = await runContainers(images)
const single = await runSingle(images)
const units = await runUnits(images)
const exposures = services.map((name) => ({ name, exposure: exposureOf(join(unitFolder, name)) }))
for (const { name, exposure } of exposures) expect(exposure <= 3, `${name}: exposure ${exposure}`)
run('podman', ['image', 'prune', '--force'])
if (values.report && failures.length === 0)
  writeImageReport({
    ...containers,
    single,
    buildSeconds,
    sizes,
    exposures,
    units,
    machine: { cores: cpus().length, load: loadavg()[1] ?? 0 },
    versions: {
      podman: podman('--version').replace('podman version ', ''),
      node: podman('run', '--rm', '--entrypoint', 'node', image, '--version'),
      postgres: podman('run', '--rm', '--entrypoint', 'postgres', base.postgres, '--version').replace(
        /^.*\) | .*$/g,
        '',
      ),
    },
  })
if (failures.length > 0) {
  console.error(`${failures.length} statements do not hold:\n${failures.join('\n')}`)
  process.exitCode = 1
}
