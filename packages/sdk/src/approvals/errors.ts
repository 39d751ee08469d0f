/** Why a guarded tool did not run. */
export class ApprovalError extends Error {
  /** Undefined where the request was not accepted. */
  readonly approvalId: string | undefined
  constructor(message: string, approvalId?: string, options?: ErrorOptions) {
    super(message, options)
    this.approvalId = approvalId
  }
}

/** A person said no. */
export class ApprovalDenied extends ApprovalError {
  override readonly name = 'ApprovalDenied'
  /** What the person wrote for you; null where they gave no reason. */
  readonly words: string | null
  constructor(words: string | null, approvalId: string) {
    super(words === null ? 'The action was denied.' : `The action was denied: ${words}`, approvalId)
    this.words = words
  }
}

/** Nobody decided in time, which is a no. */
export class ApprovalExpired extends ApprovalError {
  override readonly name = 'ApprovalExpired'
}

/** The service says that the action is approved, but the evidence that it returned does not suffice. */
export class ApprovalNotVerified extends ApprovalError {
  override readonly name = 'ApprovalNotVerified'
  /** A reason of `verifyApproval`, or `wrong_answer`, `not_consumed`. */
  readonly reason: string
  constructor(reason: string, message: string, approvalId: string, options?: ErrorOptions) {
    super(`${message} (${reason})`, approvalId, options)
    this.reason = reason
  }
}

/** Nobody could be asked, or no usable answer came. */
export class ApprovalUnavailable extends ApprovalError {
  override readonly name = 'ApprovalUnavailable'
}
