import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { build } from './base-images.ts'
import { repositoryRoot } from './dockerfile.ts'
import { podman } from './podman.ts'
import type { Images } from './compose-run.ts'
import { expect } from './statements.ts'

const image = 'localhost/pohf-battery/systemd:latest'
const container = 'pohf-battery-systemd'
const page = join(repositoryRoot, 'docs/operate/systemd.md')

/** A machine with systemd and PostgreSQL, and the program in /opt/pohf. Its files are those of the image. */
const containerfile = (pohf: string, postgres: string) => `FROM ${pohf} AS pohf
FROM ${postgres}
RUN apt-get update && apt-get install --yes --no-install-recommends systemd systemd-sysv curl
COPY --from=pohf /app /opt/pohf
COPY --from=pohf /usr/local/bin/node /opt/pohf/node_modules/.bin/node
COPY deploy/systemd /opt/pohf/deploy/systemd
ENTRYPOINT ["/sbin/init"]
`

/** The shell blocks of the page after the first one, which installs the program from the network. */
const readBlocks = (): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^```sh no-run\n([\s\S]*?)^```$/gm)]
    .map(([, block = '']) => block)
    .slice(1)

/** The command that the table of the page gives for a task. */
const commandOf = (task: string): string => {
  const [, command] =
    new RegExp(`^\\| ${task} *\\| \`(systemctl [^\`]+)\``, 'm').exec(readFileSync(page, 'utf8')) ?? []
  if (command === undefined) throw new Error(`docs/operate/systemd.md has no command for ${task}`)
  return command
}

/** The drop-in of the page that opens loopback for the metrics of the signer. */
const readDropIn = (): string => {
  const [, text] = /^```ini\n([\s\S]*?)^```$/m.exec(readFileSync(page, 'utf8')) ?? []
  if (text === undefined) throw new Error('docs/operate/systemd.md has no drop-in')
  return text
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Runs a script as root of the machine with systemd. */
const inside = (script: string): string =>
  podman('exec', '--env', `PATH=${path}`, container, 'bash', '-c', `set -euo pipefail\n${script}`)

/** What systemd knows of a unit. */
const propertyOf = (unit: string, property: string): string =>
  inside(`systemctl show --value --property=${property} ${unit}`)

const roles = ['signer', 'api', 'worker'] as const
const processesOf = (): string[] => roles.map((role) => propertyOf(`pohf-${role}`, 'MainPID'))

/** Registers an agent with a test key and verifies a simulated session: database, master key and signer take part. */
const mintScript = `url=http://127.0.0.1:3000/api/agents
key=$(curl -sf $url/register -H 'Content-Type: application/json' \\
  -d '{"name":"Units","contactEmail":"units@example.com","mode":"test"}' | sed 's/.*"apiKey":"\\([^"]*\\)".*/\\1/')
curl -sf $url/verify -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d '{"sessionId":"ses_test_pass"}'`

/** When each unit had ended, in microseconds since the boot. */
const endedAt = (role: string): number =>
  Number(propertyOf(`pohf-${role}`, 'InactiveEnterTimestampMonotonic'))

const checkUnits = (): void => {
  expect(inside(mintScript).includes('"verified":true'), 'units: a credential is minted')
  for (const role of roles) {
    const user = inside(`stat --format=%U /proc/${propertyOf(`pohf-${role}`, 'MainPID')}`)
    expect(user === (role === 'signer' ? 'pohf-signer' : 'pohf'), `pohf-${role}: runs as ${user}`)
  }
  const pid = propertyOf('pohf-api', 'MainPID')
  // In the file system that the api sees, as the user of the api.
  const seenByApi = [
    `--env=PATH=${path}`,
    container,
    'nsenter',
    `--target=${pid}`,
    '--mount',
    '--',
    'runuser',
    '--user=pohf',
    '--',
  ]
  const asApi = (command: string) =>
    spawnSync('podman', ['exec', ...seenByApi, 'sh', '-c', command]).status === 0
  expect(asApi('test -r /var/lib/pohf/master.key'), 'pohf-api: reads its master key')
  expect(!asApi('ls /var/lib/pohf-signer'), 'pohf-api: cannot look into the folder of the signer')
  expect(
    !asApi('touch /opt/pohf/x') && !asApi('touch /etc/pohf/x'),
    'pohf-api: cannot write program or settings',
  )
  expect(!asApi('rm -f /run/pohf/signer.sock'), 'pohf-api: cannot replace the socket of the signer')
}

const waitUntilReady = async (): Promise<void> => {
  for (let look = 0; look < 120; look++) {
    if (spawnSync('podman', ['exec', container, 'curl', '-sf', 'http://127.0.0.1:3000/readyz']).status === 0)
      return
    await setTimeout(500)
  }
  throw new Error(`the units are not ready:\n${inside("journalctl --no-pager -n 40 -u 'pohf-*'")}`)
}

/** Installs the drop-in of the page and reads the metrics of the signer. Answers the exposure of the unit with it. */
const checkDropIn = async (): Promise<number> => {
  const folder = '/etc/systemd/system/pohf-signer.service.d'
  inside(`mkdir ${folder}\ncat > ${folder}/metrics.conf <<'EOF'\n${readDropIn()}EOF\nsystemctl daemon-reload`)
  inside(commandOf('Restart'))
  await waitUntilReady()
  const metrics = inside('curl -sf http://127.0.0.1:9466/metrics')
  expect(
    /^pohf_signing_key_seconds_left/m.test(metrics),
    'pohf-signer: its metrics are read with the drop-in',
  )
  const rated = inside('systemd-analyze security --no-pager pohf-signer.service')
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(rated)?.[1])
  expect(exposure <= 3, `pohf-signer: exposure ${exposure} with the drop-in`)
  return exposure
}

export type UnitsResult = Readonly<Record<'stopSeconds' | 'dropInExposure', number>>

/** Boots systemd in a container, follows docs/operate/systemd.md in it, and stops and starts the units. */
export const runUnits = async (images: Images): Promise<UnitsResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-units-'))
  try {
    writeFileSync(join(folder, 'Containerfile'), containerfile(images.pohf, images.postgres))
    build({ file: join(folder, 'Containerfile'), context: repositoryRoot, image })
    podman('run', '--detach', '--name', container, '--privileged', '--systemd=always', image)
    const blocks = readBlocks()
    expect(blocks.length === 5, `docs/operate/systemd.md: ${blocks.length} blocks are run`)
    await setTimeout(3_000)
    inside('systemctl is-system-running --wait')
    for (const block of blocks) inside(`set -x\n${block}`)
    await waitUntilReady()
    checkUnits()
    const before = processesOf()
    inside(commandOf('Restart'))
    await waitUntilReady()
    expect(
      processesOf().every((pid) => !before.includes(pid)) && inside(mintScript).includes('"verified":true'),
      'units: a credential is minted after a restart',
    )
    const at = performance.now()
    inside(commandOf('Stop'))
    const stopSeconds = (performance.now() - at) / 1_000
    for (const role of roles)
      expect(
        propertyOf(`pohf-${role}`, 'Result') === 'success' &&
          propertyOf(`pohf-${role}`, 'ExecMainStatus') === '0',
        `pohf-${role}: stopped with exit code ${propertyOf(`pohf-${role}`, 'ExecMainStatus')}`,
      )
    expect(
      endedAt('signer') >= endedAt('api') && endedAt('signer') >= endedAt('worker'),
      'units: the signer stopped last',
    )
    inside(commandOf('Start'))
    await waitUntilReady()
    expect(
      inside(mintScript).includes('"verified":true'),
      'units: a credential is minted after a stop and a start',
    )
    return { stopSeconds, dropInExposure: await checkDropIn() }
  } finally {
    spawnSync('podman', ['rm', '--force', '--ignore', '--time', '5', container])
    rmSync(folder, { recursive: true, force: true })
  }
}
