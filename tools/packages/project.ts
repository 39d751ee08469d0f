import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expectedFindings } from './consumer/program.ts'
import { makeConsumerInput } from './consumer-input.ts'
import type { Tarball } from './staging.ts'

/** A project with nothing but the packages, as somebody has it who installed them. */
export type Project = {
  readonly folder: string
  readonly warnings: readonly string[]
  readonly run: (program: string, parameters: readonly string[]) => { status: number; output: string }
}

/** As strict as the compiler gets, also about our declarations, and without the types of Node. */
const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable', 'esnext.disposable'],
  types: [],
}
const settings = {
  'tsconfig.json': { compilerOptions: { ...compilerOptions, module: 'nodenext', outDir: 'out' } },
  // As Vite and esbuild resolve.
  'tsconfig.bundler.json': {
    compilerOptions: { ...compilerOptions, module: 'esnext', moduleResolution: 'bundler', noEmit: true },
  },
}

/** Type checked and bundled: in Node there is no element to extend. */
const page = `import { PohfError, start, type Options } from '@pohf/tag'
import { startAttendedSession } from '@pohf/tag/attend'
import '@pohf/tag/check'

export const options: Options = { site: 'agt_1', baseUrl: 'https://proof.example' }
// @ts-expect-error a session needs a site
export const refused: Options = {}
export const check: string | undefined = document.querySelector('pohf-check')?.response
console.log(typeof start, typeof startAttendedSession, typeof PohfError, customElements.get('pohf-check')?.name)
`

/** A build of one file for each entry. Node's own modules stay imports, as in a server that is bundled. */
const viteSettingsOf = (entry: string): string => `export default {
  build: {
    outDir: 'vite',
    emptyOutDir: false,
    target: 'es2022',
    lib: { entry: '${entry}.ts', formats: ['es'], fileName: () => '${entry}.js' },
    rolldownOptions: { external: [/^node:/] },
  },
}
`

/** npm runs with the Node that comes first in the path. */
const pathWith = (node: string): string => [dirname(node), process.env['PATH'] ?? ''].join(delimiter)

/** Installs into a folder and returns the warnings of npm about the version of Node. */
export const install = (folder: string, packages: readonly string[], node: string): string[] => {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  const { status, stdout, stderr } = spawnSync('npm', ['install', ...options, ...packages], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: pathWith(node) },
  })
  if (status !== 0) throw new Error(`npm install failed:\n${stdout}${stderr}`)
  return stderr.split('\n').filter((line) => line.includes('EBADENGINE'))
}

/** Makes an empty project below `parent` and installs the tarballs. */
export const makeProject = (tarballs: readonly Tarball[], node: string, parent: string): Project => {
  const folder = mkdtempSync(join(parent, 'project-'))
  const paths = tarballs.map(({ path }) => path)
  const warnings = install(folder, paths, node)
  for (const [name, text] of Object.entries(settings))
    writeFileSync(join(folder, name), JSON.stringify({ ...text, files: ['main.ts', 'page.ts'] }))
  copyFileSync(join(import.meta.dirname, 'consumer/program.ts'), join(folder, 'program.ts'))
  writeFileSync(join(folder, 'page.ts'), page)
  for (const entry of ['main', 'page'])
    writeFileSync(join(folder, `vite.${entry}.mjs`), viteSettingsOf(entry))
  writeFileSync(
    join(folder, 'main.ts'),
    `import { useEveryPackage } from './program.ts'
const fixture = ${JSON.stringify(makeConsumerInput())}
console.log(JSON.stringify(await useEveryPackage(fixture)))
`,
  )
  return {
    folder,
    warnings,
    run: (program, parameters) => {
      const { status, stdout, stderr, error } = spawnSync(program, parameters, {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: folder, DENO_DIR: join(folder, '.deno'), NO_COLOR: '1' },
      })
      return { status: status ?? 1, output: `${stdout}${stderr}${error?.message ?? ''}` }
    },
  }
}

/** Compares what the program printed with what it prints where all is well. */
export const findingFaults = (output: string): string[] => {
  const line = output.split('\n').find((text) => text.startsWith('[['))
  if (line === undefined) return [`it printed no findings:\n${output}`]
  const found = new Map(JSON.parse(line) as [string, unknown][])
  const warnings = output.split('\n').filter((text) => text.includes('Warning'))
  return [
    ...expectedFindings
      .filter(([name, value]) => !isDeepStrictEqual(found.get(name), value))
      .map(([name]) => `${name}: ${JSON.stringify(found.get(name))}`),
    ...warnings,
  ]
}
