import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { sandboxProfiles } from '@pohf/protocol'
import { actionBytes, firstLinkBytes, linkBytes, readChunk, thumbprintText } from '@pohf/protocol/telemetry'
import { scoreProfile, simulateRecords, type Profile } from './simulated.ts'

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()

const expected: Readonly<Record<Profile, { verified: boolean; flags: readonly string[] }>> = {
  human: { verified: true, flags: [] },
  bot: { verified: false, flags: ['untrusted_events', 'automation_env'] },
  replay: { verified: false, flags: ['replay_match'] },
  idle: { verified: false, flags: ['background', 'probe_missed'] },
}
for (const profile of sandboxProfiles) {
  test(`the scorer says of the simulated ${profile}: ${expected[profile].verified ? '' : 'not '}verified`, () => {
    const { verified, flags, components } = scoreProfile(profile)
    assert.deepEqual({ verified, flags }, expected[profile])
    assert.equal(components.input, null, 'nobody in the sandbox moves a pointer')
  })

  test(`the records of the simulated ${profile} are whole: chained and signed as docs/reference/telemetry.md says`, () => {
    const { opening, site, kind, records, link } = simulateRecords(profile)
    const jkt = sha256(thumbprintText(opening.key)).toString('base64url')
    const nonce = Buffer.from(opening.nonce, 'base64url')
    const actionHash = sha256(actionBytes({ site, kind }))
    let at = sha256(firstLinkBytes({ nonce, jkt, sessionId: opening.sessionId, actionHash }))
    const key = createPublicKey({ key: opening.key, format: 'jwk' })
    for (const { seq, chunk, signature } of records) {
      at = sha256(linkBytes(at, seq, sha256(chunk)))
      assert.ok(verify('sha256', at, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')))
      const events = readChunk(chunk)?.events
      assert.ok(events && !events.some(({ type }) => type === 'motion'))
    }
    assert.equal(at.toString('base64url'), link)
  })
}

test('a profile is scored once', () => {
  assert.equal(scoreProfile('human'), scoreProfile('human'))
})
