import { leewaySeconds, type CheckFinding, type VerificationContext } from './checks.ts'
import { isObject, type SignedClaims } from './claims.ts'
import { download } from './download.ts'
import { isForgingContent } from './forging-form.ts'
import { openJws } from './jws.ts'
import { errorText, keySourceOf, type KeySource } from './keys.ts'
import { requireIssuer, type Fetch, type TableOptions } from './policy.ts'
import {
  priceOf,
  reachesForging,
  voucherOf,
  type ForgingEntry,
  type ForgingInputs,
  type HumansPrice,
} from './price.ts'
import { CredentialRefusal } from './refusal.ts'

/** What is signed. `entries` follow from `inputs` by `forgingEntries`. */
export type ForgingTable = {
  readonly iss: string
  /** The date of the table: what it says was known then. */
  readonly iat: number
  readonly exp: number
  readonly version: 2
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
const keptSeconds = 3_600
const issuersKept = 32
const validDays = 90

const unknown = (message: string): never => {
  throw new CredentialRefusal('forging_unknown', `The price of forging is unknown: ${message}.`)
}

const knownVersion = 2
const readTable = (payload: Readonly<Record<string, unknown>>): ForgingTable => {
  const { version, currency } = payload
  if (version !== knownVersion)
    return unknown(
      `the table has version ${String(version).slice(0, 16)}; this verifier knows ${knownVersion}`,
    )
  if (currency !== 'USD') return unknown('the table has another currency than USD')
  if (!isForgingContent(payload)) return unknown('the table has another form')
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

/** A price in words, as the notes of checks say it. */
const textOf = (price: HumansPrice): string => {
  if (price === 'named') return 'no price, because only an issuer that you do not list vouches'
  if (price === 'not_counted') return 'not counted'
  return `${price.class}, about ${price.usd} USD for 1,000`
}

/**
 * Checks what 1,000 such credentials cost to forge, as acts and as acts of distinct humans. Fetches the table only where the policy asks
 * for a class that no listed issuer satisfies.
 */
export const checkForging = async (
  claims: SignedClaims,
  { options, nowSeconds }: VerificationContext,
  keys: KeySource,
): Promise<CheckFinding> => {
  const { minForging, minForgingHuman, trustedIssuers, pinnedAgents } = options.policy
  if (minForging === undefined && minForgingHuman === undefined)
    return { note: 'not asked for', skipped: true }
  if (claims.kind === 'approval') return { note: 'your policy of approvals decides', skipped: true }
  const voucher = voucherOf(claims, trustedIssuers)
  if (voucher !== undefined) return { note: `${voucher} vouches, whom you trust` }
  if (claims.roots === undefined) return unknown('the credential names no root')
  const table = await findTable({ options, nowSeconds, keys })
  const price = priceOf(table, claims, { pinnedAgents })
  if (!price) return unknown(`the table does not know the kind ${claims.kind.slice(0, 32)}`)
  const { acts, humans } = price
  if (minForging !== undefined && !reachesForging(acts, minForging))
    throw new CredentialRefusal(
      'forging_too_cheap',
      `To forge acts: ${textOf(acts)}; wanted: ${minForging} or more.`,
    )
  if (minForgingHuman !== undefined && humans === 'not_counted')
    throw new CredentialRefusal(
      'not_counted',
      `No root counts humans; wanted: ${minForgingHuman} or more to forge distinct ones.`,
    )
  if (minForgingHuman !== undefined && !reachesForging(humans, minForgingHuman))
    throw new CredentialRefusal(
      'forging_too_cheap_human',
      `To forge distinct humans: ${textOf(humans)}; wanted: ${minForgingHuman} or more.`,
    )
  return { note: `acts: ${textOf(acts)}; distinct humans: ${textOf(humans)}` }
}
