import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  publishedPackages,
  readSourceManifest,
  root,
  sourceFolderOf,
  type PublishedPackage,
} from './catalogue.ts'
import { builtFile } from './manifest.ts'

/** Where a package imports another one, it gets the declarations that were just built, and not the sources of the workspace. */
const pathsTo = (staging: string): Record<string, string[]> =>
  Object.fromEntries(
    publishedPackages.flatMap((other) => {
      const { name, exports = {} } = readSourceManifest(other)
      return Object.entries(exports).map(([entry, source]): [string, string[]] => [
        `${name}${entry.slice(1)}`,
        [join(staging, other.folder, builtFile(source, '.d.ts'))],
      ])
    }),
  )

/** Statements that run when the file is loaded; `import type` and `import()` do not. */
const staticImports = (code: string): string[] =>
  [...code.matchAll(/^(?:import|export) (?!type )(?:[^'";]*? from )?['"]([^'"]+)['"]/gm)].map(
    ([, specifier = '']) => specifier,
  )

const packageOf = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''

/** The sources of a package, without those that import what is left out. */
const sourcesOf = (published: PublishedPackage): string[] => {
  const src = join(sourceFolderOf(published), 'src')
  return globSync('**/*.ts', { cwd: src })
    .toSorted()
    .filter((path) => {
      const imported = staticImports(readFileSync(join(src, path), 'utf8')).map(packageOf)
      return !imported.some((name) => published.leaveOut?.includes(name))
    })
    .map((path) => join(src, path))
}

/** Compiles the sources of a package into `dist` of its folder in the staging area. */
export const compile = (published: PublishedPackage, staging: string): void => {
  const source = sourceFolderOf(published)
  const own = join(source, 'tsconfig.json')
  const settings = {
    extends: existsSync(own) ? own : join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      // What the oldest Node and a year-old browser run. With these, the compiler refuses a function that Node 20 lacks.
      target: 'es2022',
      lib: ['es2023', 'es2024.string', ...(published.hasScripts ? ['dom', 'dom.iterable'] : [])],
      rootDir: join(source, 'src'),
      outDir: join(staging, published.folder, 'dist'),
      ...(published.isProgram
        ? { noCheck: true, noResolve: true }
        : { declaration: true, paths: pathsTo(staging) }),
    },
    files: sourcesOf(published),
    include: [],
    exclude: [],
  }
  // Beside node_modules, where the compiler looks for the types that the settings name.
  const file = join(root, 'dist', `tsconfig-${published.folder}-${process.pid}.json`)
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(file, JSON.stringify(settings))
  try {
    const { status, stdout } = spawnSync('tsc', ['-p', file], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`packages/${published.folder} does not compile:\n${stdout}`)
  } finally {
    rmSync(file)
  }
}

/** Data and styles become modules: every Node, bundler and Deno imports those, and none of them JSON and CSS alike. */
export const inlineAssets = (published: PublishedPackage, staging: string): void => {
  const dist = join(staging, published.folder, 'dist')
  const source = join(sourceFolderOf(published), 'src')
  for (const path of globSync('**/*.js', { cwd: dist })) {
    const file = join(dist, path)
    const code = readFileSync(file, 'utf8').replaceAll(
      /from '(\.{1,2}\/[^']+\.(?:json|css))(?:\?inline)?'(?: with \{ type: 'json' \})?/g,
      (_, asset: string) => {
        const from = join(path, '..', asset)
        const text = readFileSync(join(source, from), 'utf8')
        const value = asset.endsWith('.json') ? text.trim() : JSON.stringify(text)
        writeFileSync(join(dist, `${from}.js`), `export default ${value}\n`)
        rmSync(join(dist, from), { force: true })
        return `from '${asset}.js'`
      },
    )
    writeFileSync(file, code)
  }
}

/** The compiler leaves `./name.ts` in declarations, which Deno does not find. */
export const nameBuiltFiles = (published: PublishedPackage, staging: string): void => {
  const dist = join(staging, published.folder, 'dist')
  for (const path of globSync('**/*.d.ts', { cwd: dist })) {
    const file = join(dist, path)
    const code = readFileSync(file, 'utf8')
    writeFileSync(file, code.replaceAll(/((?:from |import |import\()(['"])\.[^'"]+)\.ts\2/g, '$1.js$2'))
  }
}

/** Imports of a package that nobody who installs it would find. */
export const importFaults = (
  published: PublishedPackage,
  folder: string,
  known: readonly string[],
): string[] =>
  globSync('dist/**/*.{js,d.ts}', { cwd: folder }).flatMap((path) => {
    const code = readFileSync(join(folder, path), 'utf8')
    const loaded = staticImports(code)
    const types = [...code.matchAll(/(?:^import type [^'"]*|import\()['"]([^'"]+)['"]/gm)]
      .map(([, specifier = '']) => specifier)
      .filter((specifier) => !published.leaveOut?.includes(packageOf(specifier)))
    return [...loaded, ...(published.isProgram ? [] : types)].flatMap((specifier) => {
      if (specifier.startsWith('node:') || known.includes(packageOf(specifier))) return []
      const target = join(folder, path, '..', specifier)
      return specifier.startsWith('.') && existsSync(target) ? [] : [`${path} imports ${specifier}`]
    })
  })
