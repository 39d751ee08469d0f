import type { PublishedPackage, SourceManifest } from './catalogue.ts'

/** The oldest Node that `check.ts` runs the packages on. */
const nodeMin = '20.19'

type Entry = { readonly types: string; readonly default: string }
export type Manifest = Readonly<Record<string, unknown>> & {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, Entry | string>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** `./src/sessions/probes.ts` of the workspace is `./dist/sessions/probes.js` of the package. */
export const builtFile = (source: string, ending: '.js' | '.d.ts'): string =>
  source.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, ending)

const entryOf = (source: string): Entry => ({
  types: builtFile(source, '.d.ts'),
  default: builtFile(source, '.js'),
})

const mapValues = <T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))

/** The manifest of the package, from that of the workspace. */
export const manifestOf = (published: PublishedPackage, source: SourceManifest): Manifest => {
  const { name, version, description, keywords, license, homepage, bugs, repository } = source
  const { bin, peerDependencies, peerDependenciesMeta } = source
  const dependencies = Object.entries(source.dependencies ?? {}).filter(
    ([dependency]) => !published.leaveOut?.includes(dependency),
  )
  const entries = mapValues(source.exports ?? {}, entryOf)
  return {
    name,
    version,
    description,
    keywords,
    license,
    homepage,
    bugs,
    repository,
    type: 'module',
    engines: { node: `>=${nodeMin}` },
    sideEffects: published.isProgram ? true : (published.sideEffects ?? false),
    ...(entries['.'] === undefined ? {} : { types: entries['.'].types }),
    exports: { ...entries, './package.json': './package.json' },
    ...(bin === undefined ? {} : { bin: mapValues(bin, (path) => builtFile(path, '.js')) }),
    files: ['dist', ...(published.hasScripts ? ['scripts'] : [])],
    dependencies: Object.fromEntries(dependencies),
    ...(peerDependencies === undefined ? {} : { peerDependencies }),
    ...(peerDependenciesMeta === undefined ? {} : { peerDependenciesMeta }),
    publishConfig: { access: 'public', provenance: true },
  }
}
