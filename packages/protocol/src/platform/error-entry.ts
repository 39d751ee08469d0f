/** One public error code: its status, whether the same call may succeed later, and the text of its page. */
export type ErrorEntry = {
  readonly status: number
  readonly retryable: boolean
  /** The default message: what happened, for people. */
  readonly message: string
  readonly why: string
  readonly fix: string
}

export const entry = (status: number, message: string, why: string, fix: string): ErrorEntry => ({
  status,
  retryable: false,
  message,
  why,
  fix,
})

/** The same call may succeed later. */
export const asRetryable = (refusal: ErrorEntry): ErrorEntry => ({ ...refusal, retryable: true })
