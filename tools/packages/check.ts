// Builds the tarballs, inspects them, installs them into an empty project and uses them there.
// node tools/packages/check.ts [--json]: with the Node and the compiler of the workspace, for CI.
// npm run battery -- packages [--report] [--json]: with every Node, compiler and bundler of the matrix, and in Deno.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { paddedTableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { root } from './catalogue.ts'
import { inspectTarball } from './inspect.ts'
import { installToolchain, matrixCases, smokeCases, type Case } from './matrix.ts'
import { buildPackages, type Tarball } from './staging.ts'

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

type Result = { readonly name: string; readonly seconds: number; readonly faults: readonly string[] }

const runCase = async ({ name, run }: Case): Promise<Result> => {
  const startedAt = performance.now()
  const faults = await run()
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(`${faults.length === 0 ? '✓' : '✗'} ${name} (${seconds.toFixed(1)} s)`)
  for (const fault of faults) console.error(`    ${fault}`)
  return { name, seconds, faults }
}

const reportOf = (tarballs: readonly Tarball[], versions: readonly string[], results: readonly Result[]) =>
  `# Packages, ${today()}

\`npm run battery -- packages --report\` built the tarballs of the packages that are published, inspected them, installed them by npm into
empty projects and used them there. ${results.filter(({ faults }) => faults.length === 0).length} of ${results.length} cases passed.

## Tarballs

${paddedTableOf(
  ['Package', 'Files', 'KB packed', 'KB unpacked'],
  tarballs.map(({ name, version, files, bytes, unpackedBytes }) => [
    `${name}@${version}`,
    String(files.length),
    (bytes / 1_000).toFixed(1),
    (unpackedBytes / 1_000).toFixed(1),
  ]),
)}

## Versions

${versions.map((version) => `- ${version}`).join('\n')}

## Cases

${paddedTableOf(
  ['Case', 'Result', 'Seconds'],
  results.map(({ name, seconds, faults }) => [
    name,
    faults.length === 0 ? 'passed' : faults.join('; '),
    seconds.toFixed(1),
  ]),
)}
`

const folder = mkdtempSync(join(tmpdir(), 'pohf-packages-'))
try {
  const tarballs = buildPackages(join(folder, 'tarballs'))
  console.log(`${tarballs.length} tarballs built`)
  const inspections = tarballs.map((tarball): Case => ({
    name: `publint, Are The Types Wrong and content of ${tarball.name}`,
    run: () => inspectTarball(tarball),
  }))
  const toolchain = values.all ? installToolchain(join(folder, 'toolchain')) : undefined
  const settings = { tarballs, folder }
  const uses = toolchain
    ? matrixCases(settings, toolchain)
    : smokeCases(settings, process.execPath, join(root, 'node_modules/.bin/tsc'))
  const results: Result[] = []
  for (const each of [...inspections, ...uses]) results.push(await runCase(each))
  if (values.report) writeReport('packages.md', reportOf(tarballs, toolchain?.versions ?? [], results))
  const failed = results.filter(({ faults }) => faults.length > 0).length
  if (values.json)
    console.log(JSON.stringify({ packages: tarballs.length, passed: results.length - failed, failed }))
  if (failed > 0) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
