/** The WebAuthn options as the service sends them: binary fields as base64url. */
type Options = Readonly<Record<string, unknown>>

const toText = (buffer: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const toBytes = (text: unknown): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(String(text).replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))

type KeyDescriptors = readonly { readonly id: string; readonly type: 'public-key' }[] | undefined
const listOf = (listed: unknown): PublicKeyCredentialDescriptor[] =>
  ((listed as KeyDescriptors) ?? []).map(({ id, type }) => ({ type, id: toBytes(id) }))

const required = (credential: Credential | null): PublicKeyCredential => {
  if (!credential) throw new Error('The device returned no passkey.')
  return credential as PublicKeyCredential
}

const jsonOf = (credential: PublicKeyCredential, response: Readonly<Record<string, string>>) => ({
  id: credential.id,
  rawId: credential.id,
  type: credential.type,
  clientExtensionResults: {},
  response,
})

/** Uses a passkey of this device; the credential as JSON. */
export const assertPasskey = async (publicKey: Options) => {
  const used = required(
    await navigator.credentials.get({
      publicKey: {
        ...(publicKey as unknown as PublicKeyCredentialRequestOptions),
        challenge: toBytes(publicKey['challenge']),
        allowCredentials: listOf(publicKey['allowCredentials']),
      },
    }),
  )
  const response = used.response as AuthenticatorAssertionResponse
  return jsonOf(used, {
    clientDataJSON: toText(response.clientDataJSON),
    authenticatorData: toText(response.authenticatorData),
    signature: toText(response.signature),
    ...(response.userHandle ? { userHandle: toText(response.userHandle) } : {}),
  })
}

/** Makes a passkey on this device; the credential as JSON. */
export const createPasskey = async (publicKey: Options) => {
  const user = publicKey['user'] as PublicKeyCredentialUserEntity & { readonly id: unknown }
  const made = required(
    await navigator.credentials.create({
      publicKey: {
        ...(publicKey as unknown as PublicKeyCredentialCreationOptions),
        challenge: toBytes(publicKey['challenge']),
        user: { ...user, id: toBytes(user.id) },
        excludeCredentials: listOf(publicKey['excludeCredentials']),
      },
    }),
  )
  const response = made.response as AuthenticatorAttestationResponse
  return jsonOf(made, {
    clientDataJSON: toText(response.clientDataJSON),
    attestationObject: toText(response.attestationObject),
  })
}
