import { useEffect, useState } from 'preact/hooks'

/** The bytes that a seal is woven from. */
export const useDigest = (text: string | undefined): Uint8Array | undefined => {
  const [bytes, setBytes] = useState<Uint8Array>()
  useEffect(() => {
    let wanted = true
    setBytes(undefined)
    if (text === undefined) return
    // Without a secure context there is no WebCrypto, and then no verification either.
    void crypto.subtle?.digest('SHA-256', new TextEncoder().encode(text)).then((digest) => {
      if (wanted) setBytes(new Uint8Array(digest))
    })
    return () => {
      wanted = false
    }
  }, [text])
  return bytes
}
