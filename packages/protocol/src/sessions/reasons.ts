/**
 * The flags of a session and the reasons of its verdict, with what they mean, by who gives them. The pages, the scorer and the
 * service have types from these lists: a new name does not compile until each of them has an answer. No dependencies, as in
 * telemetry.ts.
 */
const flags = {
  chain_broken: 'chunks of the recording are missing or were changed',
  nonce_reuse: 'a receipt was used for two chunks',
  untrusted_events: 'a script made some of the input events',
  automation_env: 'the browser reports that a program controls it',
  replay_match: 'the pointer motion repeats an earlier recording',
  honeypot_hit: 'a control that people cannot see was used',
  impossible_timing: 'some input was faster than a person can be',
  clock_skew: 'the clocks of the page and of the service differ too much',
  device_shared: 'too many members use this device',
  no_approach_path: 'most presses came without pointer motion before them',
  synthetic_motion: 'the pointer motion looks computed',
  background: 'the page was not in view for long enough',
  probe_missed: 'fewer than half of the probes were answered correctly',
  insufficient_evidence: 'too little was recorded',
  gaze_away: 'the person looked away',
  geo_mismatch: 'nobody can travel between the two places in that time',
  datacenter_ip: 'the requests came from a data centre',
} as const
export type FlagName = keyof typeof flags

/** Of the scorer, against an attended act. */
const attention = {
  quality_low: 'the quality is too low',
  focus_low: 'the page was not in view for long enough',
  attention_unproven: 'too few probes were answered correctly and in time',
  answer_wrong: 'the answer is wrong',
} as const
/** Of the scorer, against presence. */
const presence = { evidence_missing: 'neither a photo nor a location was sent' } as const
/** Of the service, where the scorer could not run. */
const unscored = {
  records_gone: 'the recording was deleted before it was scored',
  scoring_failed: 'the recording could not be scored',
} as const
/** Of a micro-task: why a session does not support its answer. */
const task = {
  answer_missing: 'no answer was sent',
  attention_missing: 'no session was sent with the answer',
  session_unknown: 'the agent has no such session',
  session_of_another_kind: 'the session is not of kind task',
  session_of_another_task: 'the session was recorded for another task',
  session_used: 'the session supports another answer, or a credential was minted for it',
  session_not_ready: 'the session is not scored',
  session_before_task: 'the session ended before the task was fetched',
} as const

export type AttentionReason = keyof typeof attention
export type PresenceReason = keyof typeof presence
export type UnscoredReason = keyof typeof unscored
export type TaskReason = keyof typeof task
/** A blocking flag is a reason too, with a prefix. */
export type SessionReason =
  `flag_${FlagName}` | AttentionReason | PresenceReason | UnscoredReason | TaskReason

const texts: Readonly<Record<string, string>> = {
  ...flags,
  ...attention,
  ...presence,
  ...unscored,
  ...task,
}

/** A flag or a reason in words. A reason that names a flag has the prefix `flag_`; an unknown code stays as it is. */
export const reasonText = (code: string): string => texts[code.replace(/^flag_/, '')] ?? code

/** Why a person has not passed, as the page says it. The list is closed, and names no score and no flag. */
export const verdictReasons = [
  'questions_missed',
  'page_hidden',
  'interrupted',
  'network_busy',
  'proof_needed',
  'not_confirmed',
] as const
export type VerdictReason = (typeof verdictReasons)[number]
