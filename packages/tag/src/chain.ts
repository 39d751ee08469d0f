import { actionBytes, firstLinkBytes, linkBytes, thumbprintText, type Action } from '@pohf/protocol/telemetry'

const encoder = new TextEncoder()
const hash = async (bytes: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
    character.charCodeAt(0),
  )

/** A key whose private part no script, ours included, can read. */
export const makeKey = async () => {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign', 'verify'],
  )
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, jwk: { kty: 'EC', crv: 'P-256', x, y } as const }
}
export type Key = Awaited<ReturnType<typeof makeKey>>

/** The RFC 7638 thumbprint of the public key. */
export const thumbprintOf = async ({ jwk }: Key): Promise<string> =>
  base64url(await hash(encoder.encode(thumbprintText(jwk))))

export const signBytes = async ({ privateKey }: Key, bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, bytes)))

/** Links each chunk to all before it, and signs the link. */
export const openChain = async (
  key: Key,
  { nonce, sessionId, action, jkt }: { nonce: string; sessionId: string; action: Action; jkt: string },
) => {
  const actionHash = await hash(actionBytes(action))
  let link = await hash(firstLinkBytes({ nonce: bytesOf(nonce), jkt, sessionId, actionHash }))
  return async (seq: number, chunk: string): Promise<string> => {
    link = await hash(linkBytes(link, seq, await hash(encoder.encode(chunk))))
    return signBytes(key, link)
  }
}
