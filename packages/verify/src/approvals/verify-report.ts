import type { JSONWebKeySet } from 'jose'
import { isObject } from '../claims.ts'
import { openJws } from '../jws.ts'
import { keySourceOf } from '../keys.ts'
import { requireIssuer } from '../policy.ts'
import { CredentialRefusal } from '../refusal.ts'
import { findBelowTeam, shareOf } from './figures.ts'
import { canonicalJson, type Json } from './json.ts'

/** A report about 200 people has about 110,000 characters. */
const jwsCharsMax = 262_144
const method = 'approval-report-1'

type Fields = Readonly<Record<string, unknown>>
export type ReportCheck = {
  readonly name: 'signature' | 'answer' | 'figures'
  readonly passed: boolean
  readonly note: string
}
export type ReportVerification = {
  readonly ok: boolean
  readonly checks: readonly ReportCheck[]
  /** What is signed; undefined where the signature does not fit. */
  readonly claims?: Fields
}
export type ReportToVerify = {
  /** The evidence pack as it was downloaded: `report`, `method` and `jws`. */
  readonly pack: Fields
  readonly issuer: string
  readonly jwks: JSONWebKeySet
}

const openReport = async ({ pack, issuer, jwks }: ReportToVerify): Promise<Fields> => {
  requireIssuer({ issuer, jwks })
  const claims = await openJws(
    pack['jws'],
    {
      typ: 'approval-report+jwt',
      maxChars: jwsCharsMax,
      keys: keySourceOf({ issuer, jwks }),
      purpose: () => 'report',
    },
    () => undefined,
  )
  if (claims['iss'] !== issuer)
    throw new CredentialRefusal('wrong_issuer', `Signed for another address than ${issuer}.`)
  return claims
}

const isSame = (one: unknown, other: unknown): boolean =>
  one !== undefined && other !== undefined && canonicalJson(one as Json) === canonicalJson(other as Json)

const isShare = (value: unknown): boolean =>
  isObject(value) &&
  typeof value['n'] === 'number' &&
  typeof value['of'] === 'number' &&
  value['n'] <= value['of'] &&
  isSame(value, { ...shareOf(value['n'], value['of']) })

const countOf = (figures: Fields) => figures['caught'] as { readonly n: number; readonly of: number }

const fail = (note: string): ReportCheck => ({ name: 'figures', passed: false, note })

/** Whether shares and intervals follow from the counts, and those who are named from the figures of all. */
const checkFigures = (claims: Fields): ReportCheck => {
  const report = claims['report']
  if (claims['method'] !== method) return fail('the method is not known here')
  if (!isObject(report) || !isObject(report['team'])) return fail('the report has another form')
  const perPerson = report['perPerson']
  const people: unknown = isObject(perPerson) ? perPerson['people'] : []
  if (!Array.isArray(people) || !people.every(isObject)) return fail('the report has another form')
  const all: readonly Fields[] = [report['team'], ...people]
  if (!all.every((figures) => isShare(figures['caught']) && isShare(figures['fast'])))
    return fail('a share or an interval does not follow from its counts')
  const named = findBelowTeam(
    people.map((person) => ({ id: String(person['approver']), caught: countOf(person) })),
  )
  if (!people.every((person) => person['belowTeam'] === named.has(String(person['approver']))))
    return fail('another person is below the team than the figures say')
  return {
    name: 'figures',
    passed: true,
    note: `every share and interval follows from its counts, for the team and ${people.length} people`,
  }
}

/** Checks an evidence pack without a request: its signature, that it shows what is signed, and its figures. */
export const verifyReport = async (given: ReportToVerify): Promise<ReportVerification> => {
  let claims: Fields
  try {
    claims = await openReport(given)
  } catch (error) {
    if (!(error instanceof CredentialRefusal)) throw error
    return { ok: false, checks: [{ name: 'signature', passed: false, note: error.message }] }
  }
  const { pack, issuer } = given
  const passed = isSame(pack['report'], claims['report']) && pack['method'] === claims['method']
  const checks: ReportCheck[] = [
    { name: 'signature', passed: true, note: `fits a key of ${issuer} for reports` },
    {
      name: 'answer',
      passed,
      note: passed ? 'every field of the report is signed' : 'the report differs from what is signed',
    },
    checkFigures(claims),
  ]
  return { ok: checks.every((check) => check.passed), checks, claims }
}
