import { pluralize } from '../../shared/design/time.ts'
import type { CompanySignIn } from '../wire.ts'

type Label = { readonly word: string; readonly tone: string; readonly text: string }

export const companyLabels: Readonly<Record<CompanySignIn['state'], Label>> = {
  waiting: {
    word: 'waiting for the record',
    tone: 'warn',
    text: 'Nobody can sign in yet. Publish the record, then check it.',
  },
  ready: {
    word: 'ready',
    tone: 'ok',
    text: 'People can sign in. The record is read every day: leave it there.',
  },
  missing: {
    word: 'check failed',
    tone: 'warn',
    text: 'People can still sign in. It is checked every hour.',
  },
  stopped: {
    word: 'stopped',
    tone: 'stop',
    text: 'Nobody can sign in: no check succeeded for three days. Repair what is named here, then check it.',
  },
}

export const faultTexts: Readonly<Record<NonNullable<CompanySignIn['fault']>, string>> = {
  record_missing:
    'The TXT record was not found, or says something else. A new record can take an hour to be seen.',
  dns_unavailable: 'The name servers of the domain did not answer.',
  tenant_mismatch: 'Microsoft Entra says that the domain belongs to another tenant, or to none.',
  issuer_mismatch:
    'The identity provider calls itself by another address. Remove this sign-in and enter the address letter by letter, with or without a slash at its end.',
  issuer_unavailable: 'The identity provider has no metadata at a public address.',
}

/** The first line of the page. */
export const companyFinding = (issuers: readonly Pick<CompanySignIn, 'state'>[]): string => {
  const broken = issuers.filter(({ state }) => state === 'missing' || state === 'stopped').length
  if (broken > 0)
    return `${pluralize(broken, 'company sign-in needs', 'company sign-ins need')} your attention`
  const serving = issuers.filter(({ state }) => state === 'ready').length
  if (serving > 0) return `${pluralize(serving, 'company', 'companies')} can vouch for people`
  return issuers.length === 0 ? 'No company vouches for people yet' : 'The record is not seen yet'
}
