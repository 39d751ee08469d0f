/** What a step reads, as paths from the root: a folder ends in `/`. Its result is kept until one of them changes. */
type Inputs = readonly string[]

export type Step = {
  readonly name: string
  /** What the step checks, for the table in CONTRIBUTING.md. */
  readonly checks: string
  readonly command: readonly string[]
  /** A step of the other lane that must have passed before. */
  readonly after?: string
  readonly inputs?: Inputs
}

export type Lane = { readonly name: string; readonly steps: readonly Step[] }

const code: Inputs = [
  'packages/',
  'conformance/',
  'deploy/',
  'docs/quickstart/',
  'tools/',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]

/**
 * The merge gate: two lanes at the same time, each in its order, one for each core. The lane of the tests begins with the build,
 * because tests open the built pages; the other ends with what runs the whole service.
 */
export const lanes: readonly Lane[] = [
  {
    name: 'tests',
    steps: [
      {
        name: 'build',
        checks: 'web pages, browser scripts and documentation can be built; the tests then open them',
        command: ['npm', 'run', '--silent', 'build'],
      },
      {
        name: 'tests',
        checks: 'all tests but the long ones',
        command: ['node', 'tools/ci/test.ts'],
      },
    ],
  },
  {
    name: 'checks',
    steps: [
      {
        name: 'lockfile',
        checks: 'the lockfiles name every optional package and have the hash of each that the registry has',
        command: ['node', 'tools/ci/lockfile.ts', '--check'],
        inputs: ['package.json', 'package-lock.json', 'tools/ci/', 'tools/clickhouse/', 'conformance/'],
      },
      {
        name: 'types',
        checks: 'types of the workspace, of the pages, of the browser scripts and of the documentation',
        command: ['node', 'tools/ci/types.ts'],
        inputs: code,
      },
      {
        name: 'format',
        checks: 'files are formatted',
        command: ['prettier', '--check', '--log-level', 'warn', '.'],
        inputs: [''],
      },
      {
        name: 'lint',
        checks: 'lint rules, with types',
        command: ['oxlint', '--type-aware', '--format=unix'],
        inputs: [...code, '.oxlintrc.json'],
      },
      {
        name: 'dead code',
        checks: 'no unused file, export or dependency',
        command: ['knip'],
        inputs: [...code, 'knip.json'],
      },
      {
        name: 'generated files',
        checks: 'generated files are current',
        command: ['node', 'tools/ci/generate.ts', '--check'],
        inputs: [''],
      },
      {
        name: 'packages',
        checks: 'the packages that are published can be installed and used',
        command: ['node', 'tools/packages/check.ts'],
        inputs: [...code, 'LICENSE'],
      },
      {
        name: 'service',
        checks:
          'the conformance suite, the journey by curl, a JWT library of Python, a stock x402 client and 1,000 random requests, on one running service',
        command: ['node', 'tools/ci/service.ts'],
        after: 'build',
      },
      {
        name: 'hostile client',
        checks: 'a hostile client closes the service to nobody',
        command: ['node', 'tools/chaos/run-hostile.ts', '--smoke'],
      },
      {
        name: 'kills',
        checks: 'nothing is lost or charged twice while processes are killed',
        command: ['node', 'tools/chaos/run-processes.ts', '--seconds', '30', '--json'],
      },
      {
        name: 'purchases',
        checks: 'payments and deliveries agree while the api and the chain fail',
        command: ['node', 'tools/chaos/run-purchases.ts', '--purchases', '16', '--clients', '12', '--json'],
      },
    ],
  },
]

export const steps: readonly Step[] = lanes.flatMap((lane) => lane.steps)
