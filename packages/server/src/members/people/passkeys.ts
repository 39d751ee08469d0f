import type { PasskeyAssurance } from '../rules.ts'

export type Passkey = {
  readonly credentialId: string
  readonly publicKey: Buffer
  readonly counter: number
  readonly assurance: PasskeyAssurance
  /** Whether it can be copied to other devices (WebAuthn, backup eligibility), as it said when it was registered. */
  readonly synced: boolean
  /** The AAGUID, where its maker attests a model that keeps its keys in hardware. */
  readonly model: string | undefined
}
/** What a passkey shows when it is used. */
export type UsedPasskey = {
  /** The new signature counter. */
  readonly counter: number
  /** What the passkey says now. It must not change; where it has, nobody knows what the key is. */
  readonly synced: boolean
  /** Undefined where trusted metadata no longer name the model. */
  readonly model: string | undefined
}
type PasskeyExpectation = { readonly challenge: string; readonly origin: string; readonly rpId: string }

/** Injected by the wiring: the evidence module holds the trust anchors. Undefined when the passkey is invalid. */
export type PasskeyVerifier = {
  readonly verifyNew: (credential: unknown, expected: PasskeyExpectation) => Promise<Passkey | undefined>
  readonly verifyKnown: (
    credential: unknown,
    known: Passkey,
    expected: PasskeyExpectation,
  ) => Promise<UsedPasskey | undefined>
}
