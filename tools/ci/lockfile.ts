// npm writes only those optional packages into the lockfile that it could look up, and `npm ci` then refuses the
// lockfile as incomplete. This names the missing ones by what their parents ask for. npm run lockfile [-- --check]
import { readFileSync, writeFileSync } from 'node:fs'
import { integrityFaults, type Entry, type Lockfile } from './lockfile-rules.ts'

const path = new URL('../../package-lock.json', import.meta.url)
const lockfile = JSON.parse(readFileSync(path, 'utf8')) as Lockfile

const systems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'openharmony',
  'win32',
  'aix',
  'sunos',
  'netbsd',
  'openbsd',
]
const processors = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el']

/** Native packages say in their names what they are for. */
const platformOf = (name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> | undefined => {
  const words = name.split(/[/-]/)
  if (words.includes('wasm32')) return { cpu: ['wasm32'] }
  const os = systems.find((system) => words.includes(system))
  // Go and Foundry say amd64 for what Node calls x64.
  const cpu = words.includes('amd64') ? 'x64' : processors.find((processor) => words.includes(processor))
  if (!os || !cpu) return undefined
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : words.some((word) => word.startsWith('gnu'))
      ? 'glibc'
      : undefined
  return { os: [os], cpu: [cpu], ...(libc && os === 'linux' ? { libc: [libc] } : {}) }
}

const added: string[] = []
for (const [parent, entry] of Object.entries(lockfile.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const places = [`node_modules/${name}`, `${parent}/node_modules/${name}`]
    if (places.some((place) => lockfile.packages[place])) continue
    const platform = platformOf(name)
    if (!platform || !/^\d/.test(version))
      throw new Error(`${parent} depends on ${name}@${version}: no exact version or unknown platform`)
    lockfile.packages[`node_modules/${name}`] = {
      version,
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      ...platform,
    }
    added.push(name)
  }
}

if (process.argv.includes('--check')) {
  const faults = integrityFaults(lockfile)
  if (added.length > 0) {
    console.error(`package-lock.json lacks ${added.join(', ')}. Run npm run lockfile and commit the result.`)
    process.exitCode = 1
  } else if (faults.length > 0) {
    console.error(`package-lock.json:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    process.exitCode = 1
  } else console.log(`${Object.keys(lockfile.packages).length} packages in the lockfile, none missing`)
} else {
  const sorted = Object.fromEntries(
    Object.entries(lockfile.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
  writeFileSync(path, `${JSON.stringify({ ...lockfile, packages: sorted }, null, 2)}\n`)
  console.log(`${added.length} packages added to the lockfile`)
}
