import type { Assurance, Credential, CredentialKind } from '@pohf/protocol'
import type { CredentialState } from '../status/rules.ts'

/** What is stored of a credential. */
export type IssuedCredential = {
  readonly id: string
  readonly at: Date
  readonly kind: CredentialKind
  readonly expiresAt: Date
  readonly assurance: Assurance
  readonly quality: number
  readonly state: CredentialState
  readonly expired: boolean
}

const statusOf = ({ state, expired }: IssuedCredential): Credential['status'] => {
  if (state === 'revoked') return 'revoked'
  if (expired) return 'expired'
  return state === 'suspended' ? 'suspended' : 'active'
}

export type CredentialFilter = {
  readonly kind?: CredentialKind | undefined
  readonly status?: Credential['status'] | undefined
  readonly assurance?: Assurance | undefined
}

/** Undefined where nothing is filtered. */
export const filterOf = ({
  kind,
  status,
  assurance,
}: CredentialFilter): ((row: IssuedCredential) => boolean) | undefined =>
  kind === undefined && status === undefined && assurance === undefined
    ? undefined
    : (row) =>
        (kind === undefined || row.kind === kind) &&
        (status === undefined || statusOf(row) === status) &&
        (assurance === undefined || row.assurance === assurance)

export const presentCredential = (row: IssuedCredential, sessionId: string | undefined): Credential => ({
  credentialId: row.id,
  kind: row.kind,
  status: statusOf(row),
  assurance: row.assurance,
  quality: row.quality,
  sessionId: sessionId ?? null,
  issuedAt: row.at.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
})
