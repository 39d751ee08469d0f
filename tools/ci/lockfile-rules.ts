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

const nameAt = (place: string): string =>
  place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** A package as `npm view` names it: the hash belongs to one version. */
export type Unhashed = { readonly place: string; readonly spec: string; readonly platform: string }

/** The packages without a hash, and the platform that each installs on. */
export const withoutIntegrity = (lockfile: Lockfile): Unhashed[] =>
  fromRegistry(lockfile)
    .filter(([, entry]) => entry.integrity === undefined)
    .map(([place, { version = '', os, cpu, libc }]) => ({
      place,
      spec: `${nameAt(place)}@${version}`,
      platform: [os, cpu, libc].flatMap((condition) => condition?.join('+') ?? []).join('-') || 'any',
    }))

const isSha512 = (integrity: string): boolean => /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity)

/** Gives each package without a hash the one that the registry has. Returns those that the registry does not have. */
export const fillIntegrity = async (
  { packages }: Lockfile,
  find: (spec: string) => Promise<string | undefined>,
): Promise<{ readonly packages: Lockfile['packages']; readonly absent: readonly string[] }> => {
  const filled = { ...packages }
  const absent: string[] = []
  for (const { place, spec } of withoutIntegrity({ packages })) {
    const integrity = await find(spec)
    const { version, ...rest } = packages[place] ?? {}
    if (integrity === undefined) absent.push(spec)
    else if (!isSha512(integrity)) throw new Error(`the integrity of ${spec} is not one sha512: ${integrity}`)
    // In the order in which npm writes them.
    else filled[place] = { ...(version === undefined ? {} : { version }), integrity, ...rest }
  }
  return { packages: filled, absent }
}

/**
 * What lets an install take something else than what was reviewed. A package of `absent` may have no hash: the registry
 * did not have that version when it was last asked. One that installs here always needs a hash.
 */
export const integrityFaults = (lockfile: Lockfile, absent: ReadonlySet<string>): string[] => [
  ...withoutIntegrity(lockfile).flatMap(({ place, spec, platform }) => {
    if (installsOnLinuxX64(lockfile.packages[place] ?? {}))
      return [`${place} installs on linux-x64 and has no integrity`]
    return absent.has(spec) ? [] : [`${place} (${spec}, for ${platform}) has no integrity`]
  }),
  ...fromRegistry(lockfile).flatMap(([place, { integrity, resolved }]) => [
    ...(integrity !== undefined && !isSha512(integrity)
      ? [`${place} has an integrity that is not one sha512`]
      : []),
    ...(resolved === undefined ? [] : [`${place} names the address that it was installed from`]),
  ]),
]

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
