import {
  credentialKinds,
  findForgingEntry,
  readForgingTable,
  verifyCredential,
  type Claims,
  type Fetch,
  type Result,
} from '@pohf/verify'
import type { ForgingPrice } from './messages.ts'

/** This page came from the issuer's own server, so its keys and lists are fetched from there, whatever the host is called. */
const issuerFetch: Fetch = (url, init) => fetch(new URL(url).pathname, init)

/** Verifies a credential in the browser. Pages show all claims and let people decide, so the policy requires only the signature. */
export const verifyInBrowser = (jwt: string, issuer: string, challenge = ''): Promise<Result> =>
  verifyCredential(jwt, {
    issuer,
    fetch: issuerFetch,
    policy: {
      kinds: credentialKinds,
      minAssurance: 'low',
      minQuality: 0,
      status: 'if-present',
      allowTest: true,
      ...(challenge === '' ? {} : { challenge }),
    },
  })

/** What forging such a credential costs, by the issuer's signed table. A table that cannot be used is no error. */
export const readPriceInBrowser = async (claims: Claims, issuer: string): Promise<ForgingPrice> => {
  const read = await readForgingTable({ issuer, fetch: issuerFetch })
  if (!read.ok) return { unknown: read.message }
  const entry = findForgingEntry(read.table, claims)
  if (!entry) return { unknown: 'The table of the issuer has no entry for it.' }
  return { costPer1000: entry.costPer1000, class: entry.class, asOf: read.table.iat }
}
