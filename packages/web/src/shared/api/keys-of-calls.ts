export type KeysOfCalls = {
  /** The same key for the same text until `forget`: a call whose answer was lost is repeated without a second effect. */
  readonly keyOf: (text: string) => string
  /** After success: the same text is then meant once more. */
  readonly forget: () => void
}

/** The idempotency keys of a form, by what it sends. */
export const createKeysOfCalls = (): KeysOfCalls => {
  const keys = new Map<string, string>()
  return {
    keyOf: (text) => {
      const key = keys.get(text) ?? crypto.randomUUID()
      keys.set(text, key)
      return key
    },
    forget: () => keys.clear(),
  }
}
