import {
  credentialKinds,
  priceOf,
  readForgingTable,
  verifyCredential,
  type Claims,
  type Fetch,
  type ForgingTableResult,
  type Result,
} from '@pohf/verify'
import type { ReaderList, StatementPrice } from '@pohf/protocol/statements'

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

/** A table that cannot be used is no error: it says nothing about a credential. */
export const readTableInBrowser = (issuer: string): Promise<ForgingTableResult> =>
  readForgingTable({ issuer, fetch: issuerFetch })

/** What forging a credential costs by the issuer's signed table, or why that is not known. */
export type ForgingPrice = StatementPrice | { readonly unknown: string }
export const priceIn = (read: ForgingTableResult, claims: Claims, list: ReaderList): ForgingPrice => {
  if (!read.ok) return { unknown: read.message }
  const price = priceOf(read.table, claims, { trusted: list.trustedIssuers, pinnedAgents: list.pinnedAgents })
  return price
    ? { ...price, asOf: read.table.iat }
    : { unknown: 'The table of the issuer has no price for it.' }
}
