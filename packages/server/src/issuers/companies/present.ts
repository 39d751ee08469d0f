import type { CompanyFault } from '@pohf/protocol'
import { Refusal } from '../../platform/http/errors.ts'
import { returnPathOf } from '../rules.ts'
import type { CompaniesDeps } from './deps.ts'
import { faultTexts, recordNameOf, recordValueOf, stateOf, stopsAt } from './rules.ts'
import type { CompanyRow } from './store.ts'

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null

/** How owners see a company. The secret is not in it. */
export const presentCompany = ({ origin }: Pick<CompaniesDeps, 'origin'>, row: CompanyRow, at: Date) => {
  const state = stateOf({ seenAt: row.seen_at, failedSince: row.failed_since }, at)
  return {
    issuerId: row.issuer_id,
    name: row.name,
    issuer: row.issuer,
    domain: row.domain,
    clientId: row.client_id,
    hasSecret: row.client_secret_sealed !== null,
    admit: { acr: row.acr, amr: row.amr },
    record: { name: recordNameOf(row.domain), value: recordValueOf(row.token) },
    redirectUri: `${origin}${returnPathOf(row.issuer_id)}`,
    state,
    fault: row.fault,
    seenAt: timeOf(row.seen_at),
    checkedAt: timeOf(row.checked_at),
    missingSince: timeOf(row.failed_since),
    stopsAt: state === 'missing' && row.seen_at !== null ? timeOf(stopsAt(row.seen_at)) : null,
    createdAt: row.created_at.toISOString(),
    changedBy: row.changed_by,
  }
}

export const unknownCompany = (): Refusal =>
  new Refusal('not_found', { message: 'No such sign-in of a company.' })

export const companyRefused = (path: string, code: string, message: string): Refusal =>
  new Refusal('company_refused', { details: [{ path, code, message }] })

export const faultRefusal = (fault: CompanyFault): Refusal =>
  new Refusal('company_refused', {
    message: `The check did not succeed: ${faultTexts[fault]}.`,
    details: [{ path: 'params.issuerId', code: fault, message: faultTexts[fault] }],
  })
