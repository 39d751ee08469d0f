import { permittedImports, readOwnedTables } from './import-rules.ts'

/** Beginnings of names that are neither a module nor a table. */
const otherBeginnings: Readonly<Record<string, string>> = {
  check_duration_bin: 'sessions',
  pohf: 'platform',
  quality_bin: 'sessions',
  track: 'tracking',
  tracked_view: 'tracking',
  view: 'sessions',
  webhook: 'webhooks',
}

/** The module to which an object of the schema belongs; throws if none or several do. */
type OwnerOf = (kind: 'table' | 'sequence' | 'type' | 'function', name: string) => string

/**
 * A table belongs to the module whose README says **Owns**. Any other object belongs to the owner of the longest beginning of
 * its name: a module, a table with or without the last s, or one of `otherBeginnings`.
 */
export const schemaOwners = (tables: readonly string[]): OwnerOf => {
  const modules = ['platform', ...Object.keys(permittedImports)]
  const owned = modules.flatMap((module) =>
    readOwnedTables(module)
      .filter((table) => tables.includes(table))
      .map((table) => ({ table, module })),
  )
  const beginnings = new Map<string, string>([
    ...modules.map((module) => [module, module] as const),
    ...owned.flatMap(({ table, module }) => [
      [table, module] as const,
      [table.replace(/s$/, ''), module] as const,
    ]),
    ...Object.entries(otherBeginnings),
  ])
  return (kind, name) => {
    if (kind === 'table') {
      const owners = owned.filter(({ table }) => table === name)
      const [owner] = owners
      if (!owner || owners.length > 1)
        throw new Error(
          `the table ${name} has ${owners.length} owners: say **Owns** in the README of one module`,
        )
      return owner.module
    }
    const words = name.split('_')
    const owner = words
      .map((_, dropped) => beginnings.get(words.slice(0, words.length - dropped).join('_')))
      .find((module) => module !== undefined)
    if (owner === undefined)
      throw new Error(`the ${kind} ${name} has no owner: begin its name with that of a module or of a table`)
    return owner
  }
}
