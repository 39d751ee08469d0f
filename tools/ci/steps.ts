export type Step = {
  readonly name: string
  /** What the step checks, for the table in CONTRIBUTING.md. */
  readonly checks: string
  readonly command: readonly string[]
  /** Runs at the same time, and prints when it has ended: for commands that leave a core idle. */
  readonly beside?: readonly string[]
}

/** Everything CI runs, in its order. The time that each step may take is in budgets.json. */
export const steps: readonly Step[] = [
  {
    name: 'lint',
    checks: 'files are formatted; lint rules with types',
    command: ['oxlint', '--type-aware', '--quiet'],
    beside: ['prettier', '--check', '--log-level', 'warn', '.'],
  },
  { name: 'types', checks: 'types of the workspace', command: ['tsc', '-p', '.'] },
  {
    name: 'types of the web pages',
    checks: 'types of the web pages',
    command: ['tsc', '-p', 'packages/web'],
  },
  {
    name: 'types of the tag',
    checks: 'types of the browser scripts',
    command: ['tsc', '-p', 'packages/tag'],
  },
  {
    name: 'types of the documentation',
    checks: 'types of the scripts and the build of the documentation',
    command: ['tsc', '-p', 'packages/docs'],
  },
  { name: 'types of the demo', checks: 'types of the sample site', command: ['tsc', '-p', 'packages/demo'] },
  { name: 'dead code', checks: 'no unused file, export or dependency', command: ['knip'] },
  {
    name: 'lockfile',
    checks: 'the lockfiles name every optional package and have the hash of each that the registry has',
    command: ['node', 'tools/ci/lockfile.ts', '--check'],
  },
  {
    name: 'generated files',
    checks: 'generated files are current',
    command: ['node', 'tools/ci/generate.ts', '--check'],
  },
  {
    name: 'packages',
    checks: 'the packages that are published can be installed and used',
    command: ['node', 'tools/packages/check.ts'],
  },
  {
    name: 'build',
    checks: 'web pages, browser scripts and documentation can be built; the tests then open them',
    command: ['npm', 'run', '--silent', 'build'],
  },
  { name: 'tests', checks: 'all tests', command: ['node', 'tools/ci/test.ts'] },
  {
    name: 'kills',
    checks:
      'nothing is lost or charged twice while processes are killed; payments and deliveries agree while the api and the chain fail',
    command: ['node', 'tools/chaos/run-processes.ts', '--seconds', '60', '--json'],
    beside: ['node', 'tools/chaos/run-purchases.ts', '--purchases', '60', '--clients', '12', '--json'],
  },
  {
    name: 'acceptance',
    checks: 'the conformance suite and the journey by curl',
    command: ['node', 'tools/ci/acceptance.ts'],
  },
  {
    name: 'interop',
    checks: 'other JWT libraries verify credentials; a hostile client closes the service to nobody',
    command: ['node', 'tools/interop/main.ts', '--json'],
    beside: ['node', 'tools/chaos/run-hostile.ts', '--smoke'],
  },
  {
    name: 'x402 clients',
    checks: 'stock x402 clients buy',
    command: ['node', 'tools/interop/x402-clients.ts', '--json'],
  },
  {
    name: 'clickhouse',
    checks: 'beacons arrive in ClickHouse and count once; skipped where chdb has no library',
    command: ['node', 'tools/chaos/attention/run-attention.ts', '--smoke'],
  },
  {
    name: 'fuzz',
    checks: 'random requests get answers of the OpenAPI document',
    command: ['node', 'tools/fuzz/main.ts', '--requests', '6000'],
  },
]
