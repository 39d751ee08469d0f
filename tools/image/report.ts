import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import type { StopResult } from './compose-run.ts'
import type { Conformance } from './conformance.ts'
import type { SingleResult } from './single.ts'
import type { UnitsResult } from './units-run.ts'

export type ImageMeasurements = {
  readonly buildSeconds: number
  /** In bytes. */
  readonly sizes: Readonly<Record<'image' | 'debian' | 'node', number>>
  readonly startSeconds: number
  readonly conformance: Conformance
  readonly memory: readonly { readonly name: string; readonly megabytes: number }[]
  readonly stops: readonly StopResult[]
  readonly single: SingleResult
  readonly exposures: readonly { readonly name: string; readonly exposure: number }[]
  readonly units: UnitsResult
  readonly machine: { readonly cores: number; readonly load: number }
  readonly versions: Readonly<Record<'podman' | 'node' | 'postgres', string>>
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`
const seconds = (value: number): string => `${value.toFixed(1)} s`

const countsOf = ({ passed, failed, skipped }: Conformance): string[] => [passed, failed, skipped].map(String)

const figures = ({ sizes, buildSeconds, startSeconds, single, memory }: ImageMeasurements): string =>
  tableOf(
    ['What', 'Figure'],
    [
      ['Size of the image, unpacked', megabytes(sizes.image)],
      ['of it Debian', megabytes(sizes.debian)],
      ['of it Node', megabytes(sizes.node)],
      [
        'of it the service, its libraries and the web pages',
        megabytes(sizes.image - sizes.debian - sizes.node),
      ],
      ['Build without a cache', seconds(buildSeconds)],
      [
        'Start of all containers of compose.yml with a new database, until each is ready',
        seconds(startSeconds),
      ],
      [
        'Start of one container with all roles and a new database, until it is ready',
        seconds(single.firstStartSeconds),
      ],
      ['The same with a current schema', seconds(single.startSeconds)],
      ['Stop of it by SIGTERM, exit code 0', seconds(single.stopSeconds)],
      ...memory.map(({ name, megabytes: peak }) => [`Most memory of \`${name}\` in the run`, `${peak} MB`]),
    ],
  )

const conformanceTable = ({ single, conformance }: ImageMeasurements): string =>
  tableOf(
    ['Conformance suite against', 'Statements that hold', 'fail', 'are skipped'],
    [
      [
        'one container with all roles, read-only and without rights, on its loopback',
        ...countsOf(single.conformance),
      ],
      [
        'the api of the containers of `compose.yml`, at an address that is not loopback',
        ...countsOf(conformance),
      ],
    ],
  )

const stopTable = ({ stops }: ImageMeasurements): string =>
  tableOf(
    ['Container', 'Duration', 'Exit code'],
    stops.map((stop) => [`\`${stop.name}\``, seconds(stop.seconds), String(stop.exitCode)]),
  )

const exposureTable = ({ exposures }: ImageMeasurements): string =>
  tableOf(
    ['Unit', 'Exposure'],
    exposures.map(({ name, exposure }) => [`\`${name}\``, exposure.toFixed(1)]),
  )

const confinementText = `## Confinement

Each of these was asked of the kernel from inside \`signer\`, \`api\` and \`worker\`, and holds:

- the user is 10002 (signer) or 10001, all five sets of capabilities are empty, new privileges are refused, system calls are
  filtered;
- of all folders that the process can see, it can make a file only in its volumes and in memory (\`/tmp\`,
  \`/dev/shm\`, \`/dev/mqueue\`);
- the password of the database is neither in an environment nor on a command line;
- the signer has no network interface but \`lo\`.

A container with all roles and a writable root wrote nothing outside \`/data\`; a planted file was seen.`

const notRun = `## Not in this run

The base images \`node:24-slim\` and \`debian:bookworm-slim\` and the image \`postgres:18\`: an image with Debian's PostgreSQL and the same
user, folders and variables took the place of the last one. Docker, its health checks by timer, restarts and resolution of names:
the battery ran the checks itself and gave the database a fixed address. The published port: the conformance suite ran in the
network of the containers. The limits of log files.`

/** Writes docs/reports/<day>-image.md. Only for a run in which every statement held. */
export const writeImageReport = (measured: ImageMeasurements): void => {
  const { units, machine, versions } = measured
  writeReport(
    'image.md',
    `# The container image and the units, ${today()}

Question: does \`deploy/Dockerfile\` build, and do the containers of \`deploy/compose.yml\` serve the specification with a read-only
root file system and without rights?

Command: \`npm run battery -- image --report\`. It makes its base images with debootstrap and the npm package of Node, builds with
buildah, and starts what \`compose.yml\` says by podman ${versions.podman} with runc. Node ${versions.node}, PostgreSQL ${versions.postgres}. ${machine.cores} cores;
average load of the last five minutes ${machine.load.toFixed(1)}.

${figures(measured)}

${conformanceTable(measured)}

Statements about purchases need a chain, and off loopback those about webhooks to this machine and about test workflows are
skipped too.

## Stop

In the order of Docker: each container before those that it depends on.

${stopTable(measured)}

${confinementText}

## Units

Exposure by \`systemd-analyze security --offline=true\`; 0 is the best, 10 the worst, and 3.0 the limit.

${exposureTable(measured)}

The battery booted systemd in a container and ran the blocks of [systemd.md](../operate/systemd.md) there, from the second on: the units
started, minted a credential, did so again after a restart, stopped in ${seconds(units.stopSeconds)}, each with exit code 0 and the signer last, and started
again. The user of the api could not look into the folder of the signer, replace its socket, or write program or settings. With the
drop-in of the page, the metrics of the signer were read; systemd rates its unit ${units.dropInExposure.toFixed(1)} then.

${notRun}
`,
  )
}
