import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonText } from '@pohf/protocol/reasons'
import { flagCaps } from '../src/quality.ts'

test('every flag and every reason of a verdict has words, with and without its prefix', () => {
  const flags = Object.keys(flagCaps)
  assert.ok(flags.length >= 17)
  for (const code of [...flags, 'quality_low', 'focus_low', 'attention_unproven', 'answer_wrong'])
    assert.notEqual(reasonText(code), code)
  assert.equal(reasonText('flag_automation_env'), reasonText('automation_env'))
  assert.equal(reasonText('new_code'), 'new_code')
})
