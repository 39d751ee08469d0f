/** What the codes in `flags` and `reasons` of a session mean. No dependencies, as in telemetry.ts. */
const texts: Readonly<Record<string, string>> = {
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
  quality_low: 'the quality is too low',
  focus_low: 'the page was not in view for long enough',
  attention_unproven: 'too few probes were answered correctly and in time',
  answer_wrong: 'the answer is wrong',
  member_not_enrolled: 'neither an enrolled member nor an attested device stands behind it',
  evidence_missing: 'neither a photo nor a location was sent',
  records_gone: 'the recording was deleted before it was scored',
  scoring_failed: 'the recording could not be scored',
}

/** A flag or a reason in words. A reason that names a flag has the prefix `flag_`; an unknown code stays as it is. */
export const reasonText = (code: string): string => texts[code.replace(/^flag_/, '')] ?? code
