// npm writes only those optional packages into a lockfile that it could look up, and `npm ci` then refuses the lockfile as
// incomplete. This names the missing ones by what their parents ask for, in every lockfile. npm run lockfile [-- --check]
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { integrityFaults, missingOptional, type Lockfile } from './lockfile-rules.ts'

const root = resolve(import.meta.dirname, '../..')
const check = process.argv.includes('--check')
const lockfiles = [
  'package-lock.json',
  '{conformance,tools}/*/package-lock.json',
  'tools/*/*/package-lock.json',
]

for (const path of globSync(lockfiles, { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()) {
  const lockfile = JSON.parse(readFileSync(join(root, path), 'utf8')) as Lockfile
  const missing = missingOptional(lockfile)
  const packages = { ...lockfile.packages, ...Object.fromEntries(missing) }
  const faults = integrityFaults({ packages })
  if (check && missing.size > 0) {
    console.error(
      `${path} lacks ${[...missing.keys()].join(', ')}. Run npm run lockfile and commit the result.`,
    )
    process.exitCode = 1
  } else if (check && faults.length > 0) {
    console.error(`${path}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    process.exitCode = 1
  } else if (check) console.log(`${path}: ${Object.keys(packages).length} packages, none missing`)
  else if (missing.size > 0) {
    const sorted = Object.fromEntries(Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    writeFileSync(join(root, path), `${JSON.stringify({ ...lockfile, packages: sorted }, null, 2)}\n`)
    console.log(`${path}: ${missing.size} packages added`)
  }
}
