import { useState } from 'preact/hooks'
import { toApiError, type ApiError } from './client.ts'

export type Action = {
  readonly busy: boolean
  /** What came of the last act, in words; empty while there is nothing to tell. */
  readonly message: string
  readonly error: ApiError | undefined
  /** Does one thing and tells how it went. True if it was done. */
  readonly run: (words: string, work: () => Promise<unknown>) => Promise<boolean>
}

/** Doing something that the service may refuse: one thing at a time, and its outcome in words. */
export const useAction = (onDone: () => void): Action => {
  const [busy, setBusy] = useState(false)
  const [said, setSaid] = useState('')
  const [trouble, setTrouble] = useState<ApiError>()
  const act = async (words: string, work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setTrouble(undefined)
    setSaid('')
    try {
      await work()
      setSaid(words)
      return true
    } catch (error) {
      setTrouble(toApiError(error))
      return false
    } finally {
      setBusy(false)
      // Also after a refusal: somebody else may have been faster, and then what is shown is old.
      onDone()
    }
  }
  return { busy, message: said, error: trouble, run: act }
}
