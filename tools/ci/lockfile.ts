// npm writes only those optional packages into a lockfile that it could look up, and `npm ci` then refuses the lockfile as
// incomplete. This names the missing ones by what their parents ask for, in every lockfile, and gives each package without a
// hash the one that the registry has. lockfile-absent.json lists the packages that the registry did not have: only
// these may have no hash. npx node tools/ci/lockfile.ts [--check]
import { execFile } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import {
  fillIntegrity,
  integrityFaults,
  missingOptional,
  withoutIntegrity,
  type Lockfile,
  type Unhashed,
} from './lockfile-rules.ts'

const root = resolve(import.meta.dirname, '../..')
const absentFile = join(import.meta.dirname, 'lockfile-absent.json')
const patterns = [
  'package-lock.json',
  '{conformance,tools}/*/package-lock.json',
  'tools/*/*/package-lock.json',
]
const lockfiles = globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()

const read = (path: string): Lockfile => JSON.parse(readFileSync(join(root, path), 'utf8')) as Lockfile
const readAbsent = (): readonly string[] => JSON.parse(readFileSync(absentFile, 'utf8')) as readonly string[]

/** The hash of a version in the registry; undefined where the registry does not have it. */
const findIntegrity = async (spec: string): Promise<string | undefined> => {
  try {
    const { stdout } = await promisify(execFile)('npm', ['view', spec, 'dist.integrity'])
    return stdout.trim() || undefined
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    if (stderr.includes('E404')) return undefined
    throw new Error(`npm view ${spec} failed`, { cause: error })
  }
}

/** The packages without a hash, one line for each platform. */
const describe = (unhashed: readonly Unhashed[]): string =>
  [...Map.groupBy(unhashed, ({ platform }) => platform)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([platform, packages]) => {
      const specs = [...new Set(packages.map(({ spec }) => spec))].toSorted()
      return `  ${platform}: ${specs.join(', ')}`
    })
    .join('\n')

const check = (): void => {
  const absent = new Set(readAbsent())
  const unhashed: Unhashed[] = []
  for (const path of lockfiles) {
    const lockfile = read(path)
    const faults = [
      ...[...missingOptional(lockfile).keys()].map((place) => `${place} is missing`),
      ...integrityFaults(lockfile, absent),
    ]
    unhashed.push(...withoutIntegrity(lockfile))
    if (faults.length > 0) {
      console.error(`${path}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
      process.exitCode = 1
    } else console.log(`${path}: ${Object.keys(lockfile.packages).length} packages, none missing`)
  }
  const present = new Set(unhashed.map(({ spec }) => spec))
  const stale = [...absent].filter((spec) => !present.has(spec))
  if (stale.length > 0) {
    console.error(`lockfile-absent.json lists ${stale.join(', ')}, which no lockfile has without a hash`)
    process.exitCode = 1
  }
  console.log(
    `${present.size} packages without integrity, which the registry did not have:\n${describe(unhashed)}`,
  )
  if (process.exitCode === 1) console.error('Run npx node tools/ci/lockfile.ts and commit the result.')
}

const write = async (): Promise<void> => {
  const found = new Map<string, string | undefined>()
  const find = async (spec: string): Promise<string | undefined> => {
    if (!found.has(spec)) found.set(spec, await findIntegrity(spec))
    return found.get(spec)
  }
  const absent = new Set<string>()
  for (const path of lockfiles) {
    const lockfile = read(path)
    const missing = missingOptional(lockfile)
    const completed = { packages: { ...lockfile.packages, ...Object.fromEntries(missing) } }
    const before = withoutIntegrity(completed).length
    const filled = await fillIntegrity(completed, find)
    for (const spec of filled.absent) absent.add(spec)
    const hashed = before - filled.absent.length
    if (missing.size + hashed === 0) continue
    const packages = Object.fromEntries(
      Object.entries(filled.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
    writeFileSync(join(root, path), `${JSON.stringify({ ...lockfile, packages }, null, 2)}\n`)
    console.log(`${path}: ${missing.size} packages added, ${hashed} hashes filled in`)
  }
  writeFileSync(absentFile, `${JSON.stringify([...absent].toSorted(), null, 2)}\n`)
}

if (process.argv.includes('--check')) check()
else await write()
