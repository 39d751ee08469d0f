import { callConsole } from '../../shared/api/client.ts'
import { createPasskey, assertPasskey } from '../../shared/api/passkey.ts'
import type { PasskeyOptions } from '../wire.ts'

/** Signs in with a passkey of this device. */
export const signInByPasskey = async (): Promise<void> => {
  const { publicKey } = await callConsole<PasskeyOptions>('POST', '/console/passkeys/sign-in-options', {})
  await callConsole('POST', '/console/passkeys/sign-in', { credential: await assertPasskey(publicKey) })
}

/** Makes a passkey on this device for the person who is signed in. */
export const addPasskey = async (name: string): Promise<void> => {
  const { publicKey } = await callConsole<PasskeyOptions>('POST', '/console/passkeys/options', {})
  const credential = await createPasskey(publicKey)
  await callConsole('POST', '/console/passkeys/register', { ...(name === '' ? {} : { name }), credential })
}
