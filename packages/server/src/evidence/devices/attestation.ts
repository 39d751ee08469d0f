import type { deviceAssurances } from '@pohf/protocol'

export type DeviceAssurance = (typeof deviceAssurances)[number]
/** The assurance of a device that was attested. */
export type AttestedAssurance = Exclude<DeviceAssurance, 'none'>

/** A key that a device proved, to be known again by: its own id, its public key and how often it signed. */
export type DeviceKey = {
  readonly keyId: string
  readonly publicKey: Buffer
  readonly counter: number
  /** What the first proof was worth; a later signature by the key is worth at most that, or one step more. */
  readonly assurance: AttestedAssurance
}

/** What evidence is worth. `reason` is a stable word for programs. */
export type AttestationResult =
  | {
      readonly attested: true
      readonly assurance: AttestedAssurance
      readonly key?: DeviceKey
      /** Of a passkey: whether it may be copied to other devices. */
      readonly synced?: boolean
    }
  | { readonly attested: false; readonly reason: string }

/** Evidence that does not hold, with the one reason; a verifier throws it, its caller answers with it. */
export class EvidenceError extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

/** Throws unless it holds. */
export const assertEvidence = (holds: boolean, reason: string): void => {
  if (!holds) throw new EvidenceError(reason)
}

/** Runs a verifier. Whatever it throws is evidence that does not hold: foreign bytes never become a 500. */
export const verifyEvidence = async (
  verify: () => Promise<AttestationResult> | AttestationResult,
): Promise<AttestationResult> => {
  try {
    return await verify()
  } catch (error) {
    return { attested: false, reason: error instanceof EvidenceError ? error.reason : 'evidence_malformed' }
  }
}
