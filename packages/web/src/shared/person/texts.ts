import type { AttentionReason, UnscoredReason } from '@pohf/protocol/reasons'
import type { BlockingFlag } from '@pohf/scorer'

/** Why a recording is not verified. */
export type RecordingReason = AttentionReason | UnscoredReason | `flag_${BlockingFlag}`

/** The texts that mean the same on the pages of workers and of approvers. */
export const texts = {
  loading: 'One moment …',
  again: 'Try again',
  request: 'request {id}',
  test: 'test',
  reasonElse: 'Reason code: {code}',
}

export const signInTexts = {
  button: 'Sign in with your passkey',
  wait: 'One moment …',
  waitDevice: 'Follow the prompt on your device …',
  lost: 'Lost your passkey? Use a recovery code.',
  how: 'How it works',
}

/** Reasons that mean the same on both pages. */
export const reasonTexts = {
  quality_low: 'Overall, too little pointed to an attentive person.',
  focus_low: 'The page was in the background for much of the time.',
  flag_automation_env: 'The browser reports that a program controls it.',
  flag_untrusted_events: 'Some input came from a script, not from a person.',
  flag_replay_match: 'The movements match those of an earlier recording.',
  flag_honeypot_hit: 'Something was pressed that a person cannot see.',
  flag_impossible_timing: 'Some answers came faster than a person can react.',
  flag_clock_skew: 'Your device’s clock and ours do not agree.',
  flag_chain_broken: 'Parts of the recording are missing or changed.',
  flag_nonce_reuse: 'Two parts of the recording carry the same receipt.',
  flag_device_shared: 'This device is used by many people.',
  records_gone: 'The recording was deleted before it was scored.',
  scoring_failed: 'The recording could not be scored.',
} satisfies Readonly<Record<Exclude<RecordingReason, 'attention_unproven' | 'answer_wrong'>, string>>

export const failureTexts = {
  unsupported: 'This browser cannot use passkeys. Use a newer one, or your phone.',
  offline: 'The service did not answer. Check your connection and try again.',
  unreachable: 'The service did not answer. Check your connection and try again.',
  sign_in_required: 'Please sign in again.',
  session_expired: 'The recording ran longer than an hour.',
  session_not_ready: 'The recording is still being checked.',
  forbidden: 'This page may not do that. Load it again.',
  failed: 'Something went wrong.',
}
