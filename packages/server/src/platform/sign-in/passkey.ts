import type { Site } from './own-page.ts'

export type NewPasskey = {
  readonly credentialId: string
  readonly publicKey: Buffer
  readonly counter: number
}
type PasskeyExpectation = Site & { readonly challenge: string }

/** Injected by the wiring. Undefined where the passkey is invalid. User verification is required. */
export type PasskeyVerifier = {
  readonly verifyNew: (credential: unknown, expected: PasskeyExpectation) => Promise<NewPasskey | undefined>
  /** The new signature counter of a passkey. */
  readonly verifyKnown: (
    credential: unknown,
    known: NewPasskey,
    expected: PasskeyExpectation,
  ) => Promise<number | undefined>
}

/** ES256, EdDSA and RS256: what current authenticators support. */
const algorithms = [-7, -8, -257]

type Creation = {
  readonly rpId: string
  readonly challenge: string
  readonly timeoutMs: number
  /** The handle is not stored. The name tells this passkey from others of the same host in the list of the browser. */
  readonly user: { readonly handle: string; readonly name: string }
  readonly knownIds: readonly string[]
}

/** The WebAuthn options for a new passkey. User verification (biometrics or PIN) is required. */
export const creationOptions = ({ rpId, challenge, timeoutMs, user, knownIds }: Creation) => ({
  challenge,
  timeout: timeoutMs,
  rp: { id: rpId, name: 'PoHF' },
  user: { id: user.handle, name: user.name, displayName: user.name },
  pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
  excludeCredentials: knownIds.map((id) => ({ type: 'public-key', id })),
  authenticatorSelection: {
    residentKey: 'required',
    requireResidentKey: true,
    userVerification: 'required',
  },
  attestation: 'none',
})

/** The WebAuthn options to sign in. They name no passkey, so they do not reveal whether a person has one. */
export const requestOptions = ({
  rpId,
  challenge,
  timeoutMs,
}: Pick<Creation, 'rpId' | 'challenge' | 'timeoutMs'>) => ({
  challenge,
  rpId,
  timeout: timeoutMs,
  userVerification: 'required',
  allowCredentials: [],
})

/** The id that a WebAuthn credential claims; empty where it has none. */
export const credentialIdOf = (credential: unknown): string => {
  const { id } = (credential ?? {}) as { id?: unknown }
  return typeof id === 'string' && id.length <= 1_400 ? id : ''
}
