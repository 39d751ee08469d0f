import { createHash } from 'node:crypto'
import { hmacOf } from '../platform/ops/secrets.ts'

/** From the begin of a check to its answer: a person signs in meanwhile. */
export const requestMinutes = 10

/** An adapter gets no longer: a page waits for it. */
export const adapterMsMax = 20_000

/** The sealed state of a check, in the browser. */
export const stateBytesMax = 4_096

/** Where an issuer leads the browser back; the page there finishes the check. */
export const returnPath = '/issuers/return'
/** The address of one issuer that an owner set up. */
export const returnPathOf = (issuerId: string): string => `${returnPath}/${issuerId}`

export const stateHashOf = (handle: string): Buffer => createHash('sha256').update(handle).digest()

/** What the answer of an issuer must cover, so that it belongs to this person or session. */
export const signalOf = (key: Buffer, subject: string): string =>
  hmacOf(key).update(subject).digest('base64url')

/** The stored hash of an issuer's code of a human. */
export const humanHashOf = (key: Buffer, human: string): Buffer => hmacOf(key).update(human).digest()
