import { verify } from 'node:crypto'
import type { Mode } from '@pohf/protocol'
import { browserProofText, lengthPrefixed } from '@pohf/protocol/telemetry'
import type { Tx } from '../platform/db/db.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { Refusal } from '../platform/http/errors.ts'
import { readKey, sha256, thumbprintOf, type PublicJwk } from './recording/chain.ts'
import { findBrowserHistory, insertBrowserSession, lockBrowser } from './recording/store.ts'

/** A key that a browser keeps for one site, and its signature over the key of this session. */
export type BrowserProof = { readonly key: PublicJwk; readonly proof: string }

/** Injected by the wiring: whether the network of this address may bring one more browser key today. */
export type AdmitBrowser = (tx: Tx, address: ClientAddress, now: Date) => Promise<boolean>

const refuse = (path: string, message: string): never => {
  throw new Refusal('validation_failed', { details: [{ path: `body.browser.${path}`, code: path, message }] })
}

/** A proof for another site or session key is refused: it may be a copy. */
export const requireBrowserProof = ({ key, proof }: BrowserProof, site: string, jkt: string): void => {
  const publicKey = readKey(key) ?? refuse('key', 'must be a public key on P-256')
  if (thumbprintOf(key) === jkt) refuse('key', 'must be another key than that of the session')
  const text = Buffer.from(browserProofText(site, jkt))
  const signature = Buffer.from(proof, 'base64url')
  if (!verify('sha256', text, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature))
    refuse('proof', 'is no signature of this key over this site and session key')
}

/** The same key at another agent or in the other mode has another hash. */
export const browserHashOf = (agentId: string, mode: Mode, key: PublicJwk): Buffer =>
  sha256(lengthPrefixed('pohf.browser.v1', agentId, mode, thumbprintOf(key)))

type BrowserSession = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly at: Date
}

/**
 * Notes the session of a browser. Returns whether the browser got a credential here on an earlier day. A key that opens many
 * sessions in a day may be shared by several people on several networks, so it is not treated as returning: it would be
 * counted once.
 */
export const noteBrowser = async (
  tx: Tx,
  admitBrowser: AdmitBrowser,
  session: BrowserSession,
  { key, address }: { readonly key: PublicJwk; readonly address: ClientAddress },
): Promise<boolean> => {
  const { agentId, mode, at } = session
  const browser = { agentId, mode, hash: browserHashOf(agentId, mode, key) }
  await lockBrowser(tx, browser)
  const { passed, counted, exhausted } = await findBrowserHistory(tx, browser, at)
  const returning =
    passed && !exhausted && (counted || mode === 'test' || (await admitBrowser(tx, address, at)))
  await insertBrowserSession(tx, { ...session, ...browser, returning })
  return returning
}
