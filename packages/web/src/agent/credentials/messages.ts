import type { CredentialKind } from '@pohf/protocol'
import type { Filter } from '../../shared/lists/filter.ts'
import { shellQuote } from '../shell-quote.ts'
import type { CredentialDetails, CredentialRecord } from '../wire.ts'

export const credentialStatusTones: Readonly<Record<CredentialRecord['status'], string>> = {
  active: '',
  suspended: 'warn',
  revoked: 'stop',
  expired: '',
}

const kindLabels: Readonly<Record<CredentialKind, string>> = {
  view: 'View',
  work: 'Work',
  presence: 'Presence',
  personhood: 'Personhood',
  binding: 'Binding',
  purchase: 'Purchase',
  approval: 'Approval',
}

export const credentialFilters: readonly Filter[] = [
  { name: 'kind', label: 'Kind', options: [['', 'All kinds'], ...Object.entries(kindLabels)] },
  {
    name: 'status',
    label: 'State',
    options: [
      ['', 'All states'],
      ['active', 'Active'],
      ['suspended', 'Suspended'],
      ['revoked', 'Revoked'],
      ['expired', 'Expired'],
    ],
  },
  {
    name: 'assurance',
    label: 'Assurance',
    options: [
      ['', 'All levels'],
      ['low', 'Low'],
      ['substantial', 'Substantial'],
      ['high', 'High'],
    ],
  },
]

/** What the state of a credential means for who holds it. */
export const credentialStatusText = ({ status }: Pick<CredentialRecord, 'status'>): string =>
  ({
    active: 'Verifiers accept it.',
    suspended: 'Verifiers refuse it until it is reinstated or revoked.',
    revoked: 'Verifiers refuse it. That is final.',
    expired: 'Its time is over. Mint a new one for a new session.',
  })[status]

/** A request to the operator, ready to send. */
export const revocationRequest = (details: CredentialDetails, reason: string): string =>
  [
    `Please revoke the credential ${details.credentialId}.`,
    `Kind ${details.kind}, issued ${details.issuedAt}${details.sessionId === null ? '' : `, session ${details.sessionId}`}.`,
    `Reason: ${reason.trim() === '' ? '(say why)' : reason.trim()}`,
    '',
    `npx pohf credentials revoke ${details.credentialId} --reason ${shellQuote(reason.trim())}`,
  ].join('\n')
