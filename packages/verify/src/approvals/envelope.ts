import { base64url } from 'jose'
import { canonicalJson, type Json } from './json.ts'

/** What a decision needs besides the right people. An action type sets it; a request can raise it and never lowers it. */
export type ApprovalPolicy = {
  /** How many different people must approve. */
  readonly quorum: number
  /** How long the page must have been in view before an approval. */
  readonly minSeconds: number
  /** `device_bound`: the passkey is in hardware that does not copy it. */
  readonly passkey: 'any' | 'device_bound'
  /** How long an approved action waits, in which every approver can still deny it. */
  readonly delaySeconds: number
}

/** Everything that an approval is about. Its hash is what approvers sign and what an executor compares. */
export type Envelope = {
  /** The agent that executes: only its key can consume the approval. */
  readonly audience: string
  /** The requester's own reference: keeps two equal actions apart. */
  readonly requestId: string
  /** 128 random bits of the service: nobody guesses an action from its hash. */
  readonly salt: string
  readonly type: string
  /** The version of the action type; 0 where no administrator registered it. */
  readonly typeVersion: number
  readonly action: { readonly [key: string]: Json }
  /** The ids of the people who may decide, sorted. */
  readonly approvers: readonly string[]
  readonly policy: ApprovalPolicy
  /** RFC 3339, in UTC, with milliseconds. */
  readonly decideBy: string
  readonly consumeBy: string
  /** The requester's own words, shown last and as such. */
  readonly words: { readonly title: string; readonly summary: string }
}

/** How an administrator had an action type shown. */
export type ActionType = {
  readonly type: string
  readonly version: number
  /** The question in a few words, such as "Pay an invoice". */
  readonly title: string
  /** The label of each field, by JSON Pointer. A field without one is shown by its pointer. */
  readonly labels: Readonly<Record<string, string>>
  /** The pointers of the fields that matter most, in the order in which they are shown. */
  readonly critical: readonly string[]
}

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))

/** SHA-256 over the canonical JSON, as base64url. */
export const hashJson = (value: Json): Promise<string> =>
  sha256(new TextEncoder().encode(canonicalJson(value)))

export const envelopeHash = (envelope: Envelope): Promise<string> => hashJson({ ...envelope })

export type DecisionInput = {
  readonly envelopeHash: string
  readonly viewHash: string
  readonly decision: 'approve' | 'deny'
  /** The id of the approver. */
  readonly approver: string
  /** Of the service, used once. */
  readonly nonce: string
  /** The last link of the recording; empty for a denial without one. */
  readonly telemetryLink: string
}

/** The WebAuthn challenge of a decision: each part with its length before it, so that no two inputs have the same bytes. */
export const decisionChallenge = (input: DecisionInput): Promise<string> => {
  const parts = [
    'pohf-approval-decision-1',
    input.envelopeHash,
    input.viewHash,
    input.decision,
    input.approver,
    input.nonce,
    input.telemetryLink,
  ].map((part) => new TextEncoder().encode(part))
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0))
  const numbers = new DataView(bytes.buffer)
  let at = 0
  for (const part of parts) {
    numbers.setUint32(at, part.length)
    bytes.set(part, at + 4)
    at += 4 + part.length
  }
  return sha256(bytes)
}
