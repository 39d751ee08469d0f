import type { PasskeyAssurance } from '../rules.ts'

export type Passkey = {
  readonly credentialId: string
  readonly publicKey: Buffer
  readonly counter: number
  readonly assurance: PasskeyAssurance
  readonly synced: boolean
}
type PasskeyExpectation = { readonly challenge: string; readonly origin: string; readonly rpId: string }

/** Injected by the wiring: the evidence module holds the trust anchors. Undefined when the passkey is invalid. */
export type PasskeyVerifier = {
  readonly verifyNew: (credential: unknown, expected: PasskeyExpectation) => Promise<Passkey | undefined>
  /** The new signature counter of a passkey. */
  readonly verifyKnown: (
    credential: unknown,
    known: Passkey,
    expected: PasskeyExpectation,
  ) => Promise<number | undefined>
}
