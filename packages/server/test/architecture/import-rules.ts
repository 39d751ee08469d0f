import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { moduleGraphOf, moduleOf } from './module-graph.ts'

export const serverRoot = new URL('../../', import.meta.url).pathname
export type SourceFile = { readonly path: string; readonly text: string }

/** Every source file of the server, tests left out, as paths below src/. */
export const readSources = (root = join(serverRoot, 'src')): SourceFile[] =>
  globSync('**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** Which modules a module may import, besides platform and protocol: exactly those that it does import. */
export const permittedImports: Readonly<Record<string, readonly string[]>> = {
  accounts: [],
  agents: [],
  approvals: ['credentials', 'evidence', 'issuers', 'members', 'sessions'],
  credentials: ['credits', 'evidence', 'members', 'payments', 'roots', 'sessions', 'signing'],
  credits: ['ledger', 'payments', 'sessions'],
  discovery: [],
  evidence: ['issuers', 'members', 'roots', 'sessions', 'signing'],
  issuers: ['roots'],
  ledger: [],
  members: ['issuers', 'roots', 'sessions', 'webhooks'],
  microtasks: ['ledger', 'partners', 'sessions'],
  operators: [],
  partners: ['ledger'],
  payments: [],
  purchases: ['credentials', 'ledger', 'payments', 'work'],
  questions: ['payments', 'purchases', 'work'],
  requests: [],
  roots: [],
  sessions: [],
  signing: [],
  tracking: ['sessions'],
  trust: ['signing'],
  vhh: ['signing'],
  webhooks: [],
  website: [],
  work: ['credentials', 'ledger', 'members', 'payments', 'sessions'],
}

/** Permitted edges that no import uses. */
export const unusedEdges = (files: readonly SourceFile[]): string[] => {
  const graph = moduleGraphOf(files)
  return Object.entries(permittedImports).flatMap(([from, targets]) =>
    targets.filter((to) => !graph.get(from)?.has(to)).map((to) => `${from} never imports ${to}`),
  )
}

const sqlFiles = /(^|\/)store\.ts$|^platform\/db\/[a-z]+\.ts$|^platform\/queue\/(outbox|leases)\.ts$/
const httpFiles =
  /(^|\/)routes\.ts$|^platform\/http\/http[a-z-]*\.ts$|^discovery\/mcp\.ts$|^wiring\/[a-z]+\.ts$/
// The signer and its clients speak over a Unix socket, or with TLS to each other and to nobody else.
const networkFiles =
  /^platform\/net\/(outbound|dns-texts|keep-alive|node-http|mail)\.ts$|^platform\/ops\/metrics-listener\.ts$|^platform\/db\/(pool|migrate|clickhouse)\.ts$|^signing\/transport\/signer-(socket|connection)\.ts$|^main\.ts$|^roles\/supervisor\.ts$/

const importsOf = (file: SourceFile): string[] =>
  [...file.text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '')

const importFaults = (file: SourceFile): string[] => {
  const from = moduleOf(file.path)
  if (from === 'main') return []
  return importsOf(file).flatMap((specifier) => {
    if (!specifier.startsWith('../')) return []
    // A module may have folders: what counts is where the path leads, not how it is written.
    const target = /^([a-z]+)\/(.+)$/.exec(posix.join(posix.dirname(file.path), specifier))
    if (!target) return [`${file.path} imports ${specifier} from the root`]
    const [, to = '', rest = ''] = target
    if (to === from || (to === 'platform' && from !== 'platform')) return []
    if (from === 'platform') return [`${file.path}: platform knows no module, yet imports ${to}`]
    if (!(permittedImports[from] ?? []).includes(to)) return [`${file.path}: ${from} may not import ${to}`]
    return rest === 'index.ts' ? [] : [`${file.path} enters ${to} by ${rest}, not by index.ts`]
  })
}

const restrictedCallFaults = (file: SourceFile): string[] => {
  const faults: string[] = []
  const { path, text } = file
  const has = (pattern: RegExp) => pattern.test(text)
  if (
    !sqlFiles.test(path) &&
    has(/\bsql\s*(<[^`]*>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom)\(|\.query\(/)
  )
    faults.push(`${path}: SQL outside store.ts`)
  if (!httpFiles.test(path) && has(/from 'fastify'|FastifyRe(quest|ply)/))
    faults.push(`${path}: request or reply outside routes.ts`)
  if (
    !networkFiles.test(path) &&
    has(
      /(from |\()'(node:https?|node:net|node:dns[^']*|undici|nodemailer|node:tls)'|\/node-http\.ts'|\bfetch\(/,
    ) &&
    !/^platform\/http\/(client-address|http-connections)\.ts$/.test(path)
  )
    faults.push(`${path}: network outside platform/net/outbound.ts`)
  // The card provider's SDK has a way out of its own, which card-client replaces.
  if (!/^payments\/card\/(client|provider)\.ts$/.test(path) && has(/from 'stripe'/))
    faults.push(`${path}: network outside platform/net/outbound.ts`)
  if (path !== 'platform/db/clickhouse.ts' && has(/from '@clickhouse\//))
    faults.push(`${path}: network outside platform/net/outbound.ts`)
  // viem's clients connect by themselves, and follow URLs that a contract names (EIP-3668).
  if (has(/import (?!type )[^']*?from 'viem(\/actions)?'|await import\('viem/))
    faults.push(`${path}: network outside platform/net/outbound.ts`)
  // The exporter sends to the collector by itself.
  if (path !== 'platform/ops/tracing/tracing-otlp.ts' && has(/from '@opentelemetry\//))
    faults.push(`${path}: OpenTelemetry outside platform/ops/tracing/tracing-otlp.ts`)
  if (path !== 'platform/ops/config.ts' && has(/process\.env/))
    faults.push(`${path}: process.env outside platform/ops/config.ts`)
  if (
    !/^platform\/(ops\/(clock|ids|keys|master-key\/file|secrets|tokens)|http\/http)\.ts$/.test(path) &&
    has(/\bDate\.now\(|new Date\(\)|Math\.random\(|\brandomBytes\(|\brandomUUID\(/)
  )
    faults.push(`${path}: clock or randomness outside platform`)
  if (has(/\btx\?\s*:/)) faults.push(`${path}: tx is optional`)
  if (path.endsWith('/rules.ts') && has(/\basync\b|\bawait\b/)) faults.push(`${path}: rules are pure`)
  return faults
}

/** Every rule that reading the sources can check. */
export const sourceFaults = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => [...importFaults(file), ...restrictedCallFaults(file)])

/** Every table of the database, read off the generated types. */
export const readTables = (): string[] => {
  const types = readFileSync(join(serverRoot, 'src/platform/db/schema.ts'), 'utf8')
  const [, body = ''] = /export interface DB \{([^}]*)\}/.exec(types) ?? []
  return [...body.matchAll(/^\s+(\w+):/gm)].map((match) => match[1] ?? '')
}

/** The tables that a module's README says it owns: the names in backticks of that paragraph. */
export const readOwnedTables = (module: string): string[] => {
  const readme = readFileSync(join(serverRoot, 'src', module, 'README.md'), 'utf8')
  const [, paragraph = ''] = /\*\*Owns\*\*([\s\S]*?)\n\n/.exec(readme) ?? []
  return [...paragraph.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '')
}

const tableNamePattern =
  /(?:selectFrom|insertInto|updateTable|deleteFrom|[jJ]oin)\(\s*['"](\w+)|\b(?:from|into|update|join)\s+(\w+)/g

/** A table has one owner: a store that names another module's table is a fault. */
export const ownerFaults = (
  file: SourceFile,
  owned: readonly string[],
  tables: readonly string[],
): string[] => {
  const named = [...file.text.matchAll(tableNamePattern)].map((match) => match[1] ?? match[2] ?? '')
  const foreign = new Set(named.filter((name) => tables.includes(name) && !owned.includes(name)))
  return [...foreign].map((name) => `${file.path}: ${name} is not a table of this module`)
}
