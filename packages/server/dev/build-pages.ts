import { spawn } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** For each package: the sources besides its own, and one output file. */
const packages = {
  web: {
    built: 'verify.html',
    sources: ['*.html', '../verify/src/*.ts', '../protocol/src/sessions/*.ts'],
  },
  docs: {
    built: 'index.html',
    sources: ['client/*', '../../*.md', '../../docs/**/*', '../*/README.md', '../protocol/src/**/*.ts'],
  },
  tag: { built: 'compat.js', sources: ['../protocol/src/sessions/*.ts'] },
  demo: {
    built: 'session.html',
    sources: [
      '*.html',
      '../web/src/shared/{design,replay}/*',
      '../protocol/src/sessions/*.ts',
      '../verify/src/*.ts',
    ],
  },
} as const
type PackageName = keyof typeof packages

/** Builds a package if its output is missing or older than its sources; false if the build failed. */
const buildPackage = async (name: PackageName): Promise<boolean> => {
  const { built, sources } = packages[name]
  const folder = fileURLToPath(new URL(`../../${name}/`, import.meta.url))
  const paths = globSync(['build.ts', 'src/**/*', ...sources], { cwd: folder })
  const newest = Math.max(...paths.map((path) => statSync(join(folder, path)).mtimeMs))
  const output = join(folder, 'dist', built)
  if (existsSync(output) && statSync(output).mtimeMs > newest) return true
  const child = spawn(process.execPath, [join(folder, 'build.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return (await new Promise<number>((resolve) => child.once('exit', (status) => resolve(status ?? 1)))) === 0
}

/** Builds what is missing or out of date, and returns the packages that failed. */
export const buildPages = async (names: readonly PackageName[]): Promise<PackageName[]> => {
  const built = await Promise.all(names.map(buildPackage))
  return names.filter((_, index) => built[index] === false)
}
