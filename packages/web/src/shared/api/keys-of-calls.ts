export type KeysOfCalls = {
  /** The same key for the same text until `forget`: a call whose answer was lost is repeated without a second effect. */
  readonly keyOf: (text: string) => string
  /** After a refusal, which the service would repeat under the same key. */
  readonly forget: (text: string) => void
  /** After success: the same texts are then meant once more. */
  readonly forgetAll: () => void
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
    forget: (text) => void keys.delete(text),
    forgetAll: () => keys.clear(),
  }
}
