import { ApiCallError, callConsole, type Api } from '../../shared/api/client.ts'
import { createPasskey, assertPasskey } from '../../shared/api/passkey.ts'
import type { PasskeyOptions } from './wire.ts'

/** Signs an operator in with a passkey of this device. */
export const signInByPasskey = async (): Promise<void> => {
  const { publicKey } = await callConsole<PasskeyOptions>('POST', '/operator/sign-in/options', {})
  await callConsole('POST', '/operator/sign-in/passkey', { credential: await assertPasskey(publicKey) })
}

/** A browser makes a passkey for the host name of the page and no other. */
const requireHostName = ({ publicKey }: PasskeyOptions): void => {
  const { id } = publicKey['rp'] as { readonly id: string }
  if (location.hostname === id) return
  throw new ApiCallError({
    code: 'other_address',
    message: `A passkey belongs to ${id}. Open this page there, sign in with your key, and add it.`,
    details: [],
    requestId: undefined,
  })
}

/** Makes a passkey on this device for the operator of the key or of the sign-in. */
export const addPasskey = async (api: Api, name: string): Promise<void> => {
  const options = await api.call<PasskeyOptions>('POST', '/operator/sign-in/passkeys/options', {})
  requireHostName(options)
  const credential = await createPasskey(options.publicKey)
  await api.call('POST', '/operator/sign-in/passkeys', { name, credential })
}
