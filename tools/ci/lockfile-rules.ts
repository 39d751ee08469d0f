/** One package of the lockfile; the key of a registry package contains node_modules/. */
export type Entry = {
  version?: string
  resolved?: string
  integrity?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}
export type Lockfile = { packages: Record<string, Entry> }

/** Whether npm installs a package with this condition here. npm writes `!win32` for everything but Windows. */
const admits = (condition: readonly string[] | undefined, value: string): boolean => {
  if (condition === undefined) return true
  const refused = condition.filter((entry) => entry.startsWith('!'))
  if (refused.length > 0 && refused.length === condition.length) return !refused.includes(`!${value}`)
  return condition.includes(value)
}

/** Whether a package installs on the platform of CI and of the image: Linux on x64 with glibc. */
const installsOnLinuxX64 = (entry: Entry): boolean =>
  admits(entry.os, 'linux') && admits(entry.cpu, 'x64') && admits(entry.libc, 'glibc')

const fromRegistry = ({ packages }: Lockfile): [string, Entry][] =>
  Object.entries(packages).filter(([place, entry]) => place.includes('node_modules/') && !entry.link)

/** Packages for other platforms without a hash: npm could not look them up where the lockfile was written. */
export const foreignWithoutIntegrity = (lockfile: Lockfile): string[] =>
  fromRegistry(lockfile)
    .filter(([, entry]) => entry.integrity === undefined && !installsOnLinuxX64(entry))
    .map(([place]) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .toSorted()

/** What lets an install take something else than what was reviewed. */
export const integrityFaults = (lockfile: Lockfile): string[] =>
  fromRegistry(lockfile).flatMap(([place, entry]) => [
    ...(entry.integrity === undefined && installsOnLinuxX64(entry)
      ? [`${place} installs on linux-x64 and has no integrity`]
      : []),
    ...(entry.integrity !== undefined && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity)
      ? [`${place} has an integrity that is not one sha512`]
      : []),
    ...(entry.resolved === undefined ? [] : [`${place} names the address that it was installed from`]),
  ])

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

/** The places where a package looks for a dependency, from its own folder to the root, as Node does. */
const placesOf = (parent: string, name: string): string[] => {
  const outer = [...parent.matchAll(/(?<=^|\/)node_modules\//g)].map(({ index }) => parent.slice(0, index))
  const folders = [parent === '' ? '' : `${parent}/`, ...outer.toReversed(), '']
  return [...new Set(folders.map((folder) => `${folder}node_modules/${name}`))]
}

/** The optional packages that a lockfile lacks, by the place where each belongs. A version that is exact must be that one. */
export const missingOptional = ({ packages }: Lockfile): Map<string, Entry> => {
  const missing = new Map<string, Entry>()
  const at = (place: string): Entry | undefined => packages[place] ?? missing.get(place)
  for (const [parent, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const places = placesOf(parent, name)
      const found = places.map(at).find((each) => each !== undefined)
      const isExact = /^\d/.test(version)
      if (found && (!isExact || found.version === version)) continue
      const platform = platformOf(name)
      if (!platform || !isExact)
        throw new Error(`${parent} depends on ${name}@${version}: no exact version or unknown platform`)
      // Beside its parent, as npm puts it, unless another version is there.
      const place = places.slice(1).find((each) => !at(each)) ?? places[0] ?? ''
      missing.set(place, { version, ...(entry.dev ? { dev: true } : {}), optional: true, ...platform })
    }
  }
  return missing
}
