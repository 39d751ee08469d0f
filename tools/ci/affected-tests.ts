import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { isLong } from './test-files.ts'

export type Source = { readonly path: string; readonly text: string }

/** These bring the modules together: they import everything, so that nothing follows from it. */
const compositionRoots = new Set([
  'packages/server/src/wiring',
  'packages/server/src/roles',
  'packages/server/src',
])

/**
 * What a file belongs to, as a folder: a module of the server, another package, or a folder of tools. Files of the server outside
 * its modules, such as fixtures, belong to their folder.
 */
export const unitOf = (path: string): string => {
  const [first = '', second = '', third = '', fourth = ''] = path.split('/')
  if (first === 'packages' && second === 'server' && path.split('/').length > 4)
    return [first, second, third, fourth].join('/')
  if (first === 'packages' && second === 'server') return posix.dirname(path)
  if (first === 'packages' || (first === 'tools' && path.split('/').length > 2)) return `${first}/${second}`
  return first
}

const importedFrom = ({ path, text }: Source): string[] =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+|@pohf\/[a-z-]+)/g)].map(([, specifier = '']) =>
    specifier.startsWith('@pohf/')
      ? `packages/${specifier.slice('@pohf/'.length)}/index.ts`
      : posix.join(posix.dirname(path), specifier),
  )

const isTest = (path: string): boolean => path.endsWith('.test.ts')

/** The units that build on these, directly or through others, as they import each other outside of tests. */
const dependentsOf = (units: ReadonlySet<string>, sources: readonly Source[]): Set<string> => {
  const importers = new Map<string, Set<string>>()
  for (const source of sources) {
    const from = unitOf(source.path)
    if (source.path.includes('/test/') || isTest(source.path) || compositionRoots.has(from)) continue
    for (const target of importedFrom(source).map(unitOf))
      if (target !== from) importers.set(target, (importers.get(target) ?? new Set()).add(from))
  }
  const found = new Set<string>()
  const visit = (unit: string): void => {
    for (const importer of importers.get(unit) ?? [])
      if (!found.has(importer) && !units.has(importer)) {
        found.add(importer)
        visit(importer)
      }
  }
  for (const unit of units) visit(unit)
  return found
}

export type AffectedTests = {
  /** Changed tests and those that import a changed file, then the others of the changed modules and packages. */
  readonly own: readonly string[]
  /** Those of what builds on the changed modules and packages. */
  readonly dependent: readonly string[]
}

/** The test files that a change of these files concerns. Long ones are left to their battery. */
export const affectedTests = (
  changed: readonly string[],
  sources: readonly Source[],
  tests: readonly string[],
): AffectedTests => {
  const short = tests.filter((path) => !isLong(path))
  const code = changed.filter((path) => /\.(?:tsx?|sql|mjs|html|css)$/.test(path))
  const units = new Set(code.filter((path) => !isTest(path) && !path.includes('/test/')).map(unitOf))
  const changedFiles = new Set(code)
  const importers = new Set(
    sources
      .filter((source) => importedFrom(source).some((path) => changedFiles.has(path)))
      .map(({ path }) => path),
  )
  const nearest = short.filter((path) => changedFiles.has(path) || importers.has(path))
  const others = short.filter(
    (path) => !nearest.includes(path) && (units.has(unitOf(path)) || isRuleOf(path, units)),
  )
  const own = [...nearest, ...others]
  const dependents = dependentsOf(units, sources)
  return { own, dependent: short.filter((path) => !own.includes(path) && dependents.has(unitOf(path))) }
}

/** The rules of the architecture read the sources of the server. */
const isRuleOf = (path: string, units: ReadonlySet<string>): boolean =>
  path.startsWith('packages/server/test/architecture/') &&
  [...units].some((unit) => unit.startsWith('packages/server/'))

export const readSourcesOf = (paths: readonly string[]): Source[] =>
  paths.filter((path) => /\.tsx?$/.test(path)).map((path) => ({ path, text: readFileSync(path, 'utf8') }))
