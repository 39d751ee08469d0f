/** A long test that nobody runs with every commit: it is slow, wide, or needs other people's programs. */
export type Battery = {
  /** What passes if it passes, for the list of `npm run battery`. */
  readonly checks: string
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

const program = (path: string, ...parameters: readonly string[]) => ['node', path, ...parameters]

/** Every battery by its name. `npm run battery -- NAME` runs one, `npm run check -- --all` all of them. */
export const batteries = {
  alerts: {
    checks: 'each alert fires on its fault and is silent while all is well',
    command: program('tools/ci/run-alerts.ts'),
  },
  'ask-human': {
    checks: 'a question reaches a person and comes back, with times',
    command: program('tools/bench/run-ask-human.ts'),
  },
  attention: {
    checks: 'beacons in ClickHouse count once while its processes are killed',
    command: program('tools/chaos/attention/run-attention.ts'),
  },
  backup: {
    checks: 'a cluster is restored from its archive under load',
    command: program('tools/chaos/failover/run-backup.ts'),
  },
  'company-sign-in': {
    checks: 'employees sign in at a Keycloak, approve in a browser, and are out when they leave',
    command: program('tools/keycloak/run-company-sign-in.ts'),
  },
  drawn: {
    checks: 'the page of an approval draws what is signed',
    command: program('tools/chaos/run-drawn.ts'),
  },
  failover: {
    checks: 'a Patroni cluster loses nothing while its primary fails',
    command: program('tools/chaos/failover/run-failover.ts'),
  },
  faults: {
    checks: 'nothing is lost through faults of network, disk and clock',
    command: program('tools/chaos/run-faults.ts'),
  },
  'first-run': {
    checks: 'npm run dev starts on a fresh clone, ten times and with the demo',
    command: program('tools/quickstarts/run-first-run.ts'),
  },
  fuzz: {
    checks: '20,000 requests by schemathesis get only answers that the OpenAPI document has',
    command: program('tools/fuzz/main.ts', '--requests', '20000'),
  },
  guards: {
    checks: 'four agent frameworks respect a guarded tool',
    command: program('tools/interop/agent-clients.ts'),
  },
  hostile: {
    checks: 'one hostile client delays and closes nothing for others',
    command: program('tools/chaos/run-hostile.ts'),
  },
  image: {
    checks: 'the container image and the units build and run',
    command: program('tools/image/run-image.ts'),
  },
  issuers: {
    checks: 'every changed answer of an outside issuer is refused by the rule that names it',
    command: program('tools/ci/run-issuers.ts'),
  },
  kill: {
    checks: 'nothing is lost or charged twice while processes are killed',
    command: program('tools/chaos/run-processes.ts'),
  },
  kinds: {
    checks: 'every kind of credential is minted by following the guides',
    command: program('tools/ci/run-kinds.ts'),
  },
  machines: {
    checks: 'two application machines lose nothing while one has no power',
    command: program('tools/chaos/machines/run-machines.ts'),
  },
  mcp: {
    checks: "other people's MCP clients and their conformance suite pass",
    command: program('tools/interop/mcp-clients.ts'),
  },
  orders: {
    checks: 'random lives of orders keep the invariants of money and work',
    command: program('tools/chaos/run-orders.ts'),
  },
  planted: {
    checks: 'each known fault that is put into the code is found',
    command: program(
      'tools/ci/test.ts',
      'packages/cli/test/tag-check.long.test.ts',
      'tools/chaos/planted/processes.ts',
      'tools/chaos/planted/purchases.ts',
      'tools/chaos/planted/restore.ts',
      'packages/chain/test/registry-guards.test.ts',
      'packages/chain/test/registry-model.long.test.ts',
      'packages/server/src/credentials/model.test.ts',
      'packages/server/src/partners/payout-model.test.ts',
    ),
    environment: { POHF_EVERY_FAULT: '1', POHF_EVERY_GUARD: '1', POHF_LONG_MODELS: '1' },
  },
  packages: {
    checks: 'the published packages install and run on each Node, compiler and bundler',
    command: program('tools/packages/check.ts', '--all'),
  },
  parsers: {
    checks: 'no parser of foreign evidence accepts, crashes or hangs on changed input',
    command: program('tools/fuzz/run-parsers.ts'),
  },
  plans: {
    checks: 'no statement reads rows of other agents or old months',
    command: program('tools/ci/run-plans.ts'),
  },
  purchase: {
    checks: 'payments on a chain and deliveries agree while both fail',
    command: program('tools/chaos/run-purchases.ts'),
  },
  restore: {
    checks: 'a database from the past is detected and completed',
    command: program('tools/chaos/restore/run-restore.ts'),
  },
  rewrap: {
    checks: 'what must survive a rotation of the master key does, with kills',
    command: program('tools/chaos/run-rewrap.ts'),
  },
  setup: {
    checks: 'the installation page works on a fresh clone',
    command: program('tools/ci/run-install.ts'),
  },
  signer: {
    checks: 'answers, table and journal agree while the signer is killed',
    command: program('tools/chaos/run-signer.ts'),
  },
  suite: {
    checks: 'all tests pass several times in a row on a busy machine',
    command: program('tools/chaos/suite/run-suite.ts'),
  },
  tests: {
    checks: 'the tests that are long, wide or about other people’s programs pass',
    command: program('tools/ci/test.ts', '--long'),
  },
  views: {
    checks: 'every page holds in every width and colour scheme',
    command: program('tools/chaos/run-views.ts'),
  },
  webhooks: {
    checks: 'every event is delivered while processes are killed',
    command: program('tools/chaos/run-webhooks.ts'),
  },
  x402: {
    checks: 'stock x402 clients buy',
    command: program('tools/interop/x402-clients.ts'),
  },
} as const satisfies Readonly<Record<string, Battery>>

export const batteryNames: readonly string[] = Object.keys(batteries)

export const findBattery = (name: string): Battery | undefined =>
  Object.entries(batteries).find(([known]) => known === name)?.[1]
