import { decodeCBOR, encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import { assertEvidence, EvidenceError } from './attestation.ts'

/** Reads one CBOR item. Throws `EvidenceError` and nothing else: the library throws errors of several kinds. */
export const readCbor = (bytes: Uint8Array): CBORType => {
  try {
    // A copy, because the library reads from the start of the memory behind the bytes.
    return decodeCBOR(new Uint8Array(bytes))
  } catch (error) {
    throw new EvidenceError('evidence_malformed', { cause: error })
  }
}

/** The same, where nobody signed the bytes themselves: then only the one shortest encoding of a value is read. */
export const readCanonicalCbor = (bytes: Uint8Array): CBORType => {
  const value = readCbor(bytes)
  assertEvidence(Buffer.from(encodeCBOR(value)).equals(bytes), 'evidence_malformed')
  return value
}
