import { useState } from 'preact/hooks'
import { toApiError, type ApiError } from './client.ts'

export type Action = {
  readonly busy: boolean
  /** The success message of the last action; empty while there is none. */
  readonly message: string
  readonly error: ApiError | undefined
  /** Performs one call and reports the result. True if it succeeded. */
  readonly run: (successMessage: string, work: () => Promise<unknown>) => Promise<boolean>
}

/** Runs calls that the service may refuse, one at a time, and holds the result for display. */
export const useAction = (onDone: () => void): Action => {
  const [busy, setBusy] = useState(false)
  const [message, setMessage] = useState('')
  const [error, setError] = useState<ApiError>()
  const run = async (successMessage: string, work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setError(undefined)
    setMessage('')
    try {
      await work()
      setMessage(successMessage)
      return true
    } catch (error) {
      setError(toApiError(error))
      return false
    } finally {
      setBusy(false)
      // Also after a refusal: the data may have changed meanwhile.
      onDone()
    }
  }
  return { busy, message, error, run }
}
