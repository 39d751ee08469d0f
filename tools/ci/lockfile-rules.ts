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
