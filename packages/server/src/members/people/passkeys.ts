import type { PasskeyAssurance } from '../rules.ts'

export type Passkey = {
  readonly credentialId: string
  readonly publicKey: Buffer
  readonly counter: number
  readonly assurance: PasskeyAssurance
  readonly synced: boolean
}
type PasskeyExpectation = { readonly challenge: string; readonly origin: string; readonly rpId: string }

/** Handed down by app.ts: evidence knows whom to trust about devices. Undefined where it does not hold. */
export type PasskeyVerifier = {
  readonly verifyNew: (credential: unknown, expected: PasskeyExpectation) => Promise<Passkey | undefined>
  /** The new count of a passkey that signed. */
  readonly verifyKnown: (
    credential: unknown,
    known: Passkey,
    expected: PasskeyExpectation,
  ) => Promise<number | undefined>
}

/** The challenge that a passkey says it signed; whether it did is the judge's to say. */
export const readChallenge = (credential: unknown): string | undefined => {
  try {
    const { response } = credential as { response: { clientDataJSON: string } }
    const client: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))
    const { challenge } = client as { challenge: unknown }
    return typeof challenge === 'string' && challenge.length <= 128 ? challenge : undefined
  } catch {
    return undefined
  }
}
