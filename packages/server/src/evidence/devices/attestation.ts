import type { deviceAssurances } from '@pohf/protocol'

export type DeviceAssurance = (typeof deviceAssurances)[number]
/** The assurance of a device that was attested. */
export type AttestedAssurance = Exclude<DeviceAssurance, 'none'>

/** A device key that was verified: its id, its public key and its signature counter. */
export type DeviceKey = {
  readonly keyId: string
  readonly publicKey: Buffer
  readonly counter: number
  /** The assurance of the attestation; a later signature by the key gets at most that, or one level more. */
  readonly assurance: AttestedAssurance
  /** The AAGUID of a model that keeps its keys in hardware, or the id of the app; undefined for any other key. */
  readonly model?: string | undefined
}

/**
 * The scarce thing that a device shows, an authenticator model or an app, and the app or relying party that must be
 * admitted.
 */
export type DeviceRoot = {
  /** The AAGUID of the model, or the id of the app. */
  readonly name: string
  readonly app: AppRef
}
/** An app, or a relying party of passkeys. */
export type AppRef = { readonly kind: 'app' | 'rp_id'; readonly name: string }

/** The result of verifying evidence. `reason` is a stable code. */
export type AttestationResult =
  | {
      readonly attested: true
      readonly assurance: AttestedAssurance
      readonly key?: DeviceKey
      /** For a passkey: whether it can be copied to other devices, as it says itself. */
      readonly synced?: boolean
      /** Undefined where the device shows nothing scarce. */
      readonly root?: DeviceRoot | undefined
    }
  | { readonly attested: false; readonly reason: string }

/** Invalid evidence with its reason; a verifier throws it and its caller returns it. */
export class EvidenceError extends Error {
  readonly reason: string
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.reason = reason
  }
}

/** Throws unless the condition is true. */
export const assertEvidence = (holds: boolean, reason: string): void => {
  if (!holds) throw new EvidenceError(reason)
}

/** Runs a verifier. Anything it throws means invalid evidence: bytes from outside never become a 500. */
export const verifyEvidence = async (
  verify: () => Promise<AttestationResult> | AttestationResult,
): Promise<AttestationResult> => {
  try {
    return await verify()
  } catch (error) {
    return { attested: false, reason: error instanceof EvidenceError ? error.reason : 'evidence_malformed' }
  }
}
