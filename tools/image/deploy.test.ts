import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { settings } from '../../packages/server/src/platform/ops/settings.ts'
import { makeDatabase } from '../../packages/server/test/fixtures/harness.ts'
import { pollUntilStarted, startNode } from '../../packages/server/test/fixtures/processes/child-processes.ts'
import { composePath, readCompose, readDeployedCompose, serviceFaults, startOrder } from './compose.ts'
import {
  copyStage,
  dockerfilePath,
  isInContext,
  readCopies,
  readIgnores,
  repositoryRoot,
} from './dockerfile.ts'
import { exposureOf, hasSystemdAnalyze, readUnit, services, unitFolder, unitWarnings } from './units.ts'

const copies = readCopies(readFileSync(dockerfilePath, 'utf8'))
const ignores = readIgnores()
const stopSeconds = settings.shape.STOP_SECONDS.parse(undefined)
/** The worst exposure that a unit may have. */
const exposureMax = 3

test('every file that the image copies exists and is let into the build, and no secret is', (t) => {
  const sources = copies.filter(({ from }) => from === undefined).flatMap((copy) => copy.sources)
  t.diagnostic(`saw ${sources.length} sources`)
  assert.ok(sources.length >= 20)
  for (const source of sources) {
    assert.ok(existsSync(join(repositoryRoot, source)), `${source} does not exist`)
    assert.ok(isInContext(source, ignores), `${source} is ignored`)
  }
  for (const path of [
    '.pohf/master.key',
    'pohf.env',
    'deploy/secrets/database-url',
    'packages/server/test/fixtures/harness.ts',
    'packages/server/src/platform/ops/config.test.ts',
    'packages/web/node_modules/x/index.js',
    'tools/README.md',
  ])
    assert.ok(!isInContext(path, ignores), `${path} enters the build`)
})

test('the server starts with nothing but the files of the image', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-image-files-'))
  const { url, drop } = await makeDatabase()
  const last = Math.max(...copies.map(({ stage }) => stage))
  const own = copies.filter(({ stage, from }) => stage === last && from === undefined)
  const files = copyStage(own, ignores, folder)
  t.diagnostic(`copied ${files} files`)
  assert.ok(files > 500)
  symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'))
  const [port, operatorPort] = [await freePort(), await freePort()]
  const server = startNode([join(folder, 'packages/server/src/main.ts')], {
    DATABASE_URL: url,
    DATA_DIR: join(folder, 'data'),
    LOG_LEVEL: 'error',
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
  })
  t.after(async () => {
    server.child.kill('SIGTERM')
    await server.exited
    await drop()
    rmSync(folder, { recursive: true, force: true })
  })
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await pollUntilStarted('the server is ready', server, isReady)
})

test('each container is confined, and only the signer has the keys', () => {
  const compose = readDeployedCompose()
  assert.deepEqual(startOrder(compose), ['database', 'migrate', 'signer', 'api', 'worker'])
  for (const [name, service] of Object.entries(compose.services)) {
    assert.deepEqual(serviceFaults(name, service), [])
    assert.ok(service.stop_grace_period > stopSeconds, name)
    assert.equal(
      service.volumes.some((volume) => volume.startsWith('keys:')),
      name === 'signer',
      name,
    )
  }
  const { signer, api, worker, database } = compose.services
  assert.equal(signer?.network_mode, 'none')
  assert.deepEqual([signer?.secrets, signer?.env_file], [[], ['signer.env']])
  assert.deepEqual([api?.env_file, worker?.env_file], [['pohf.env'], ['pohf.env']])
  assert.notEqual(signer?.user, undefined)
  assert.deepEqual(database?.networks, ['database'])
  assert.equal(compose.networks['database']?.internal, true)
  // The api and the worker can use the socket and cannot replace it.
  for (const service of [api, worker]) assert.ok(service?.volumes.includes('socket:/run/pohf:ro'))
})

test('a planted weakness of a container is found', () => {
  const text = readFileSync(composePath, 'utf8')
  const planted: readonly (readonly [string, string, RegExp])[] = [
    ['  read_only: true\n', '', /root file system is writable/],
    ['cap_drop: [ALL]', 'cap_drop: [NET_RAW]', /keeps capabilities/],
    ["security_opt: ['no-new-privileges:true']", 'security_opt: []', /new privileges/],
    ["ports: ['127.0.0.1:3000:3000']", "ports: ['3000:3000']", /port is open to other machines/],
    ['DATABASE_URL_FILE: /run/secrets/database-url', 'DATABASE_URL: postgres://u:p@h/d', /secret is in/],
    ['    mem_limit: 2g\n', '', /no memory limit/],
    ["test: ['CMD', 'node', 'deploy/health.ts', 'signer']", 'disable: true', /Invalid|no health check/],
  ]
  for (const [from, to, expected] of planted) {
    assert.ok(text.includes(from), from)
    const faults = () =>
      Object.entries(readCompose(text.replace(from, to)).services).flatMap(([name, service]) =>
        serviceFaults(name, service),
      )
    let found: string
    try {
      found = faults().join('\n')
    } catch (error) {
      found = `Invalid: ${String(error)}`
    }
    assert.match(found, expected, to)
  }
  assert.throws(() => readCompose(text.replace('read_only:', 'readonly:')), /readonly/)
})

const podContainer = z.object({
  name: z.string(),
  args: z.array(z.string()),
  securityContext: z.record(z.string(), z.unknown()),
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
})
const statefulSet = z.object({
  kind: z.literal('StatefulSet'),
  spec: z.object({
    template: z.object({
      spec: z.object({
        terminationGracePeriodSeconds: z.int(),
        initContainers: z.array(podContainer),
        containers: z.array(podContainer),
      }),
    }),
  }),
})

test('each container of the Kubernetes pod is confined, and the kustomization names every file', () => {
  const folder = join(repositoryRoot, 'deploy/kubernetes')
  const read = (file: string): unknown[] =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document): unknown => document.toJS())
  const { resources: files } = z
    .object({ resources: z.array(z.string()) })
    .parse(read('kustomization.yaml')[0])
  assert.deepEqual([...files, 'kustomization.yaml'].toSorted(), readdirSync(folder).toSorted())
  const { spec } = statefulSet.parse(read('pohf.yaml').at(-1)).spec.template
  assert.ok(spec.terminationGracePeriodSeconds > stopSeconds)
  const containers = [...spec.initContainers, ...spec.containers]
  assert.deepEqual(
    containers.map(({ args }) => args[0]),
    ['migrate', 'signer', 'api', 'worker'],
  )
  for (const { name, securityContext } of containers)
    assert.deepEqual(
      securityContext,
      {
        runAsUser: name === 'signer' ? 10_002 : 10_001,
        runAsGroup: 10_001,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
      name,
    )
})

/** The statements that create roles, without the password. */
const roleStatements = (text: string) =>
  [...text.matchAll(/^(?:create|grant) .*;$/gm)].map(([line]) => line.replace(/password .*;/, 'password;'))

test('the roles of the database container are those of the installation page', () => {
  const page = readFileSync(join(repositoryRoot, 'docs/operate/install.md'), 'utf8')
  const script = readFileSync(join(repositoryRoot, 'deploy/database-roles.sql'), 'utf8')
  assert.equal(roleStatements(script).length, 5)
  assert.deepEqual(roleStatements(script), roleStatements(page))
})

test('units stop in order, have time for it, and share no folder but that of the socket', () => {
  assert.deepEqual(services.toSorted(), [
    'pohf-api.service',
    'pohf-migrate.service',
    'pohf-signer.service',
    'pohf-worker.service',
  ])
  for (const name of ['pohf-api.service', 'pohf-worker.service']) {
    const unit = readUnit(name)
    assert.match(unit.get('After')?.join(' ') ?? '', /pohf-signer\.service/, name)
    assert.equal(unit.get('User')?.[0], 'pohf')
  }
  for (const name of services.filter((service) => service !== 'pohf-migrate.service'))
    assert.ok(Number(readUnit(name).get('TimeoutStopSec')?.[0]) > stopSeconds, name)
  const signer = readUnit('pohf-signer.service')
  assert.equal(signer.get('User')?.[0], 'pohf-signer')
  assert.equal(signer.get('StateDirectoryMode')?.[0], '0700')
  assert.deepEqual(signer.get('EnvironmentFile'), ['-/etc/pohf/signer.env'])
})

/** The exposures that docs/operate/systemd.md states, by unit. */
const documentedExposures = () =>
  new Map(
    Array.from(
      readFileSync(join(repositoryRoot, 'docs/operate/systemd.md'), 'utf8').matchAll(
        /^\| `(pohf-\w+)` .*\| (\d\.\d) +\|$/gm,
      ),
      ([, unit, exposure]) => [`${unit}.service`, Number(exposure)],
    ),
  )

// In CI a missing systemd-analyze is a failure: there, tools/ci/debian-packages.sh installs it.
const cannotRate = !hasSystemdAnalyze() && process.env['CI'] === undefined

test(
  'systemd accepts the units and rates each of them at most 3.0, as documented',
  { skip: cannotRate && 'systemd-analyze is not installed' },
  (t) => {
    assert.deepEqual(unitWarnings(), [])
    const documented = documentedExposures()
    assert.deepEqual([...documented.keys()].toSorted(), services.toSorted())
    // Versions of systemd differ a little; a unit without its filter of system calls has 1.4 more.
    const isAsDocumented = (name: string, exposure: number) =>
      exposure <= exposureMax && Math.abs(exposure - (documented.get(name) ?? 0)) <= 0.5
    const folder = mkdtempSync(join(tmpdir(), 'pohf-unit-'))
    t.after(() => rmSync(folder, { recursive: true }))
    for (const name of services) {
      const exposure = exposureOf(join(unitFolder, name))
      t.diagnostic(`${name} ${exposure.toFixed(1)}`)
      assert.ok(isAsDocumented(name, exposure), `${name}: ${exposure}`)
      const text = readFileSync(join(unitFolder, name), 'utf8')
      for (const missing of [
        /# Hardening[\s\S]*/,
        /^CapabilityBoundingSet=\n/m,
        /^SystemCallFilter=.*\n/gm,
      ]) {
        const lax = join(folder, name)
        writeFileSync(lax, text.replace(missing, ''))
        const planted = exposureOf(lax)
        t.diagnostic(`${name} without ${missing.source}: ${planted.toFixed(1)}`)
        assert.ok(!isAsDocumented(name, planted), `${name} without ${missing.source}: ${planted}`)
      }
    }
  },
)
