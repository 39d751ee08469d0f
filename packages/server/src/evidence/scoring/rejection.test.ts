import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionVerdict } from '@pohf/protocol'
import { flagCaps } from '@pohf/scorer'
import { rejectionOf } from './rejection.ts'

const retry = (...reasons: SessionVerdict['reasons']) => ({ verdict: 'retry', reasons })
const failed = { verdict: 'failed', reasons: ['not_confirmed'] }

test('flags that only a program causes fail, and no flag is named', () => {
  const failing = Object.keys(flagCaps).filter((flag) => {
    const told = rejectionOf({ flags: [flag], reasons: ['quality_low'] })
    assert.deepEqual(rejectionOf({ flags: [], reasons: [`flag_${flag}`] }), told, flag)
    return told.verdict === 'failed'
  })
  assert.deepEqual(failing.toSorted(), [
    'automation_env',
    'device_shared',
    'honeypot_hit',
    'impossible_timing',
    'replay_match',
    'untrusted_events',
  ])
})

test('a person gets every reason that helps, and none beside a failure', () => {
  const hidden = {
    flags: ['background', 'probe_missed'],
    reasons: ['quality_low', 'focus_low', 'attention_unproven'],
  }
  assert.deepEqual(rejectionOf(hidden), retry('questions_missed', 'page_hidden'))
  assert.deepEqual(rejectionOf({ ...hidden, flags: ['replay_match', ...hidden.flags] }), failed)
  assert.deepEqual(rejectionOf({ flags: [], reasons: ['records_gone'] }), retry('interrupted'))
  assert.deepEqual(rejectionOf({ flags: ['synthetic_motion'], reasons: [] }), retry('not_confirmed'))
  assert.deepEqual(
    rejectionOf({ flags: ['of_a_newer_version'], reasons: ['another'] }),
    retry('not_confirmed'),
  )
})
