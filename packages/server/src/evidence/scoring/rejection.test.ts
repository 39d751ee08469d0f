import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { SessionVerdict } from '@pohf/protocol'
import { flagCaps } from '@pohf/scorer'
import { rejectionOf, shownReasonByCode } from './rejection.ts'

/** The reasons that a source file names, besides those of flags. */
const namedReasons = (path: string, pattern: RegExp): string[] =>
  [...readFileSync(new URL(path, import.meta.url), 'utf8').matchAll(pattern)].map(([, reason = '']) => reason)

const retry = (...reasons: SessionVerdict['reasons']) => ({ verdict: 'retry', reasons })
const failed = { verdict: 'failed', reasons: ['not_confirmed'] }

test('every flag of the scorer has its verdict, and no flag is named', () => {
  const expected = {
    chain_broken: retry('interrupted'),
    nonce_reuse: retry('interrupted'),
    clock_skew: retry('interrupted'),
    insufficient_evidence: retry('interrupted'),
    background: retry('page_hidden'),
    probe_missed: retry('questions_missed'),
    untrusted_events: failed,
    automation_env: failed,
    replay_match: failed,
    honeypot_hit: failed,
    impossible_timing: failed,
    device_shared: failed,
    no_approach_path: retry('not_confirmed'),
    synthetic_motion: retry('not_confirmed'),
    gaze_away: retry('not_confirmed'),
    geo_mismatch: retry('not_confirmed'),
    datacenter_ip: retry('not_confirmed'),
  }
  assert.deepEqual(Object.keys(expected).toSorted(), Object.keys(flagCaps).toSorted())
  for (const [flag, verdict] of Object.entries(expected)) {
    assert.deepEqual(rejectionOf({ flags: [flag], reasons: ['quality_low'] }), verdict, flag)
    assert.deepEqual(rejectionOf({ flags: [], reasons: [`flag_${flag}`] }), verdict, flag)
  }
})

test('every reason of the scorer and of the scoring has its verdict', () => {
  const expected = {
    quality_low: retry('not_confirmed'),
    focus_low: retry('page_hidden'),
    attention_unproven: retry('questions_missed'),
    answer_wrong: retry('questions_missed'),
    evidence_missing: retry('not_confirmed'),
    records_gone: retry('interrupted'),
    scoring_failed: retry('interrupted'),
  }
  const named = [
    ...namedReasons('../../../../scorer/src/quality.ts', /\['([a-z_]+)'\]/g),
    ...namedReasons('./score-session.ts', /unscorable: '([a-z_]+)'/g),
  ]
  assert.deepEqual([...new Set(named)].toSorted(), Object.keys(expected).toSorted())
  assert.deepEqual(Object.keys(shownReasonByCode).toSorted(), Object.keys(expected).toSorted())
  for (const [reason, verdict] of Object.entries(expected))
    assert.deepEqual(rejectionOf({ flags: [], reasons: [reason] }), verdict, reason)
})

test('a person gets every reason that helps, and none beside a failure', () => {
  const hidden = {
    flags: ['background', 'probe_missed'],
    reasons: ['quality_low', 'focus_low', 'attention_unproven'],
  }
  assert.deepEqual(rejectionOf(hidden), retry('questions_missed', 'page_hidden'))
  assert.deepEqual(rejectionOf({ ...hidden, flags: ['replay_match', ...hidden.flags] }), failed)
  assert.deepEqual(
    rejectionOf({ flags: ['of_a_newer_version'], reasons: ['another'] }),
    retry('not_confirmed'),
  )
})
