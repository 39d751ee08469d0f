import { leewaySeconds, type CheckFinding, type VerificationContext } from './checks.ts'
import { assurances, isObject, type SignedClaims } from './claims.ts'
import { download } from './download.ts'
import { openJws } from './jws.ts'
import { errorText, keySourceOf, type KeySource } from './keys.ts'
import { requireIssuer, type Fetch, type TableOptions } from './policy.ts'
import { forgingClasses, type ForgingEntry, type ForgingInputs } from './price.ts'
import { CredentialRefusal } from './refusal.ts'

/** What is signed. `entries` follow from `inputs` by `forgingEntries`. */
export type ForgingTable = {
  readonly iss: string
  /** The date of the table: what it says was known then. */
  readonly iat: number
  readonly exp: number
  readonly version: 1
  readonly currency: 'USD'
  readonly perDay: number
  readonly roundedDown: true
  readonly entries: readonly ForgingEntry[]
  readonly inputs: ForgingInputs
}
export type ForgingTableResult =
  | { readonly ok: true; readonly table: ForgingTable }
  | { readonly ok: false; readonly reason: 'forging_unknown'; readonly message: string }

/** A table with 60 families is about 30 kB. */
const maxTableBytes = 131_072
const entriesMax = 200
const keptSeconds = 3_600
const issuersKept = 32
const validDays = 90

const unknown = (message: string): never => {
  throw new CredentialRefusal('forging_unknown', `The price of forging is unknown: ${message}.`)
}

const isEntry = (value: unknown): boolean =>
  isObject(value) &&
  typeof value['kind'] === 'string' &&
  typeof value['root'] === 'string' &&
  assurances.some((assurance) => assurance === value['assurance']) &&
  typeof value['costPer1000'] === 'number' &&
  value['costPer1000'] >= 0 &&
  forgingClasses.some((each) => each === value['class']) &&
  typeof value['family'] === 'string'

const readTable = (payload: Readonly<Record<string, unknown>>): ForgingTable => {
  const { version, currency, entries, inputs } = payload
  if (version !== 1 || currency !== 'USD') return unknown('the table has a version that is not known here')
  if (!Array.isArray(entries) || entries.length > entriesMax || !entries.every(isEntry) || !isObject(inputs))
    return unknown('the table has another form')
  return payload as unknown as ForgingTable
}

type TableContext = { readonly options: TableOptions; readonly nowSeconds: number; readonly keys: KeySource }

/** The signature, the type, the issuer and the dates of a table; one that fails any check is not used. */
const openTable = async (token: unknown, context: TableContext): Promise<ForgingTable> => {
  const { options, nowSeconds, keys } = context
  const payload = await openJws(
    token,
    { typ: 'pohf-forging+jwt', maxChars: maxTableBytes, keys, purpose: () => 'forging' },
    () => undefined,
  ).catch((error: unknown) => {
    if (!(error instanceof CredentialRefusal)) throw error
    return unknown(`the table is not usable, ${error.message.replace(/\.$/, '')}`)
  })
  const { iss, iat, exp } = payload
  if (iss !== options.issuer) return unknown('another issuer made the table')
  if (typeof iat !== 'number' || iat > nowSeconds + leewaySeconds)
    return unknown('the date of the table is in the future')
  if (typeof exp !== 'number' || exp - iat > validDays * 86_400)
    return unknown(`the table claims to be valid for more than ${validDays} days`)
  if (nowSeconds >= exp + leewaySeconds)
    return unknown(`the table expired on ${new Date(exp * 1_000).toISOString().slice(0, 10)}`)
  return readTable(payload)
}

const fetchToken = async (fetchFile: Fetch, issuer: string): Promise<unknown> => {
  try {
    const bytes = await download(fetchFile, `${issuer}/.well-known/pohf-forging.json`, {
      maxBytes: maxTableBytes,
      accept: 'application/json',
    })
    const answer: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isObject(answer) ? answer['table'] : undefined
  } catch (error) {
    return unknown(`the table could not be read, ${errorText(error)}`)
  }
}

type KeptTable = { readonly table: ForgingTable; readonly until: number }
/**
 * Cached tables, by the key set of the caller, or else by its fetch function: a cached table was verified under those keys.
 */
const kept = new WeakMap<object, Map<string, KeptTable>>()

const findTable = async (context: TableContext): Promise<ForgingTable> => {
  const { options, nowSeconds } = context
  if (options.forging !== undefined) return openTable(options.forging, context)
  const fetchFile = options.fetch ?? globalThis.fetch
  const holder = options.jwks ?? fetchFile
  const tables = kept.get(holder) ?? new Map<string, KeptTable>()
  kept.set(holder, tables)
  const known = tables.get(options.issuer)
  if (known && nowSeconds < known.until) return known.table
  const table = await openTable(await fetchToken(fetchFile, options.issuer), context)
  if (tables.size >= issuersKept) tables.clear()
  tables.set(options.issuer, { table, until: Math.min(table.exp, nowSeconds + keptSeconds) })
  return table
}

/** Reads and checks the price table of an issuer: the one you hold, else that of the issuer's own address. */
export const readForgingTable = async (options: TableOptions): Promise<ForgingTableResult> => {
  requireIssuer(options)
  const nowSeconds = Math.floor((options.clock?.() ?? new Date()).getTime() / 1_000)
  try {
    return { ok: true, table: await findTable({ options, nowSeconds, keys: keySourceOf(options) }) }
  } catch (error) {
    if (!(error instanceof CredentialRefusal)) throw error
    return { ok: false, reason: 'forging_unknown', message: error.message }
  }
}

type PricedFacts = {
  readonly kind: string
  readonly assurance: string
  readonly root?: { readonly kind: string } | undefined
}
/** The entry of a credential: that of its kind, else the one for any kind; undefined where the price is unknown. */
export const findForgingEntry = (
  { entries }: Pick<ForgingTable, 'entries'>,
  { kind, assurance, root }: PricedFacts,
): ForgingEntry | undefined => {
  const level = entries.filter((entry) => entry.root === root?.kind && entry.assurance === assurance)
  return level.find((entry) => entry.kind === kind) ?? level.find((entry) => entry.kind === '*')
}

/** Whether the entry reaches the class. An unknown price reaches none. */
export const reachesForging = (
  entry: Pick<ForgingEntry, 'class'> | undefined,
  minimum: ForgingEntry['class'],
): boolean => entry !== undefined && forgingClasses.indexOf(entry.class) >= forgingClasses.indexOf(minimum)

/** Checks what 1,000 such credentials cost to forge. Fetches the table only where the policy asks for a class. */
export const checkForging = async (
  claims: SignedClaims,
  { options, nowSeconds }: VerificationContext,
  keys: KeySource,
): Promise<CheckFinding> => {
  const { minForging } = options.policy
  if (minForging === undefined) return { note: 'not asked for', skipped: true }
  if (claims.root === undefined) return unknown('the credential names no root')
  const entry = findForgingEntry(await findTable({ options, nowSeconds, keys }), claims)
  if (!entry)
    return unknown(
      `the table has no entry for ${claims.root.kind.slice(0, 32)} at ${claims.assurance}, kind ${claims.kind}`,
    )
  if (!reachesForging(entry, minForging))
    throw new CredentialRefusal(
      'forging_too_cheap',
      `Forging costs ${entry.class}, about ${entry.costPer1000} USD for 1,000; wanted: ${minForging} or more.`,
    )
  return { note: `${entry.class}, at least about ${entry.costPer1000} USD for 1,000` }
}
