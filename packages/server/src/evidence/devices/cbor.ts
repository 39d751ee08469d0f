import { decodeCBOR, encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import { EvidenceError } from './attestation.ts'

/** The library throws errors of several kinds, also where deep nesting exhausts the stack. */
const refuseErrors = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw new EvidenceError('evidence_malformed', { cause: error })
  }
}

/** Reads one CBOR item. Throws `EvidenceError` and nothing else. */
export const readCbor = (bytes: Uint8Array): CBORType =>
  // A copy, because the library reads from the start of the memory behind the bytes.
  refuseErrors(() => decodeCBOR(new Uint8Array(bytes)))

/** The same, where nobody signed the bytes themselves: then only the one shortest encoding of a value is read. */
export const readCanonicalCbor = (bytes: Uint8Array): CBORType => {
  const value = readCbor(bytes)
  const written = refuseErrors(() => encodeCBOR(value))
  if (!Buffer.from(written).equals(bytes)) throw new EvidenceError('evidence_malformed')
  return value
}
