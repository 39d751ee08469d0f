type Step = { readonly name: string; readonly command: readonly string[] }

/** Everything CI runs, in its order. The time that each step may take is in budgets.json. */
export const steps: readonly Step[] = [
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--quiet'] },
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'types of the console', command: ['tsc', '-p', 'packages/web'] },
  { name: 'types of the tag', command: ['tsc', '-p', 'packages/tag'] },
  { name: 'types of the demo', command: ['tsc', '-p', 'packages/demo'] },
  { name: 'dead code', command: ['knip'] },
  { name: 'lockfile', command: ['node', 'tools/ci/lockfile.ts', '--check'] },
  { name: 'generated files', command: ['node', 'tools/ci/generate.ts', '--check'] },
  { name: 'golden files', command: ['node', 'tools/ci/golden/main.ts', '--check'] },
  { name: 'tests', command: ['node', 'tools/ci/test.ts'] },
  { name: 'kills', command: ['node', 'tools/chaos/run-processes.ts', '--seconds', '60', '--json'] },
  {
    name: 'purchases',
    command: ['node', 'tools/chaos/run-purchases.ts', '--purchases', '60', '--clients', '12', '--json'],
  },
  { name: 'acceptance', command: ['node', 'tools/ci/acceptance.ts'] },
  { name: 'interop', command: ['node', 'tools/interop/main.ts', '--json'] },
  { name: 'x402 clients', command: ['node', 'tools/interop/x402-clients.ts', '--json'] },
  { name: 'fuzz', command: ['node', 'tools/fuzz/main.ts', '--requests', '6000'] },
]
