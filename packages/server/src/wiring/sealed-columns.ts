import type { SealedColumn } from '../platform/db/sealed.ts'
import { sealedColumns as secretsOfCompanies } from '../issuers/index.ts'
import { sealedColumns as mails } from '../platform/net/mail.ts'
import { sealedColumns as dayKeys } from '../roots/index.ts'
import { sealedColumns as sessionKeys } from '../sessions/index.ts'
import { sealedColumns as secretsOfEndpoints } from '../webhooks/index.ts'

/** Every column that is sealed under a key of the master key. */
export const sealedColumns: readonly SealedColumn[] = [
  ...secretsOfEndpoints,
  ...secretsOfCompanies,
  ...dayKeys,
  ...mails,
  ...sessionKeys,
]
