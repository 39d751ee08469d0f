import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigFaults } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { oidcEntry } from './oidc/entry.ts'
import { makeOidcIssuer } from './oidc/adapter.ts'
import type { OutsideIssuer } from './port.ts'
import { tokenHashOf } from './scim/rules.ts'

const fileBytesMax = 262_144
const secretBytesMax = 4_096
const issuersMax = 100

/** Reads a secret that an entry names, relative to the file, without the line feed at its end. */
type ReadSecret = (key: string, path: string) => string | undefined

/** What an entry may name. `npm run battery -- issuers` changes the answers of each. */
export const adapters = ['oidc'] as const
const entryBase = z.looseObject({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens'),
  adapter: z.enum(adapters, `must be ${adapters.join(' or ')}`),
})

const secretFault = (path: string): { readonly value: string } | { readonly fault: string } => {
  try {
    if (statSync(path).size > secretBytesMax)
      return { fault: `names a file of more than ${secretBytesMax} bytes` }
    const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    return value === '' ? { fault: 'names an empty file' } : { value }
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    return { fault: `names a file that is not readable (${reason})` }
  }
}

const pathOf = (index: number, keys: readonly PropertyKey[]): string =>
  [`[${index}]`, ...keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))].join('')

/** One entry as settings of its adapter, or its faults. */
export type Entry = z.output<typeof oidcEntry> & {
  readonly clientSecret: string | undefined
  readonly scimToken: string | undefined
}

/** The entries of the file, not checked yet, or why it holds none. */
const parseList = (text: string): readonly unknown[] | string => {
  if (text.length > fileBytesMax) return `has more than ${fileBytesMax} bytes`
  try {
    const entries: unknown = JSON.parse(text)
    if (!Array.isArray(entries)) return 'is not a JSON list'
    return entries.length > issuersMax ? `has more than ${issuersMax} issuers` : entries
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : 'unknown error'}`
  }
}

const readList = (path: string): readonly unknown[] => {
  const fail = (fault: string) => new ConfigFaults([`ISSUERS_FILE ${path} ${fault}`])
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw fail(`is not readable (${reason})`)
  }
  const entries = parseList(text)
  if (typeof entries === 'string') throw fail(entries)
  return entries
}

/** Checks every entry of the file. Throws a list of all faults, each with the file, the entry and the key. */
export const readEntries = (path: string): Entry[] => {
  if (path === '') return []
  const entries = readList(path)
  const folder = dirname(resolve(path))
  const faults: string[] = []
  const names = new Set<string>()
  const note = (at: string, fault: string): void => void faults.push(`ISSUERS_FILE ${path}: ${at} ${fault}`)
  const read = entries.flatMap((entry, index): Entry[] => {
    const base = entryBase.safeParse(entry)
    const parsed = base.success ? oidcEntry.safeParse(entry) : base
    for (const issue of parsed.error?.issues ?? [])
      note(
        pathOf(index, issue.path),
        issue.code === 'unrecognized_keys' ? `has unknown keys: ${issue.keys.join(', ')}` : issue.message,
      )
    if (!base.success) return []
    if (names.has(base.data.name)) note(pathOf(index, ['name']), `is used twice: ${base.data.name}`)
    names.add(base.data.name)
    const readSecret: ReadSecret = (key, file) => {
      const secret = secretFault(resolve(folder, file))
      if ('value' in secret) return secret.value
      note(pathOf(index, key.split('.')), secret.fault)
      return undefined
    }
    const settings = oidcEntry.safeParse(entry)
    if (!settings.success) return []
    const { clientSecretFile, scim } = settings.data
    return [
      {
        ...settings.data,
        clientSecret:
          clientSecretFile === undefined ? undefined : readSecret('clientSecretFile', clientSecretFile),
        scimToken: scim === undefined ? undefined : readSecret('scim.tokenFile', scim.tokenFile),
      },
    ]
  })
  if (faults.length > 0) throw new ConfigFaults(faults)
  return read
}

/** The outside issuers of `ISSUERS_FILE`. A wrong file refuses the start. */
export const readIssuersFile = (
  ctx: Pick<Ctx, 'config' | 'clock' | 'log'>,
  origin: string,
): OutsideIssuer[] =>
  readEntries(ctx.config.ISSUERS_FILE).map((entry) =>
    makeOidcIssuer(
      {
        name: entry.name,
        issuer: entry.issuer,
        clientId: entry.clientId,
        clientSecret: entry.clientSecret,
        trust: 'operator',
        allowLoopback: ctx.config.loopback,
        subjectClaim: entry.subjectClaim,
        tenant: entry.tenant === undefined ? undefined : { claim: entry.tenantClaim, value: entry.tenant },
        admit: entry.admit,
        lifeHours: entry.lifeHours,
        agents: entry.agents,
        isOwn: false,
        scim:
          entry.scim && entry.scimToken !== undefined
            ? { tokenHash: tokenHashOf(entry.scimToken), subject: entry.scim.subject }
            : undefined,
      },
      { origin, clock: ctx.clock, log: ctx.log },
    ),
  )
