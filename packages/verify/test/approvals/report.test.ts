import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareOf, verifyReport } from '../../src/approvals.ts'
import { makeIssuer, origin } from '../issuer.ts'

const figuresOf = (caught: number, of: number) => ({
  decisions: 40,
  approved: 40 - caught,
  denied: caught,
  caught: { ...shareOf(caught, of) },
  fast: { ...shareOf(3, 30) },
  medianSecondsInView: 21.5,
  medianAttention: 0.8,
})
const personOf = (approver: string, caught: number, belowTeam: boolean) => ({
  ...figuresOf(caught, 12),
  approver,
  name: approver,
  belowTeam,
})
const reportOf = () => ({
  from: '2026-10-01T00:00:00.000Z',
  to: '2026-11-01T00:00:00.000Z',
  requests: 100,
  expired: 2,
  consumed: 80,
  team: figuresOf(25, 36),
  perPerson: {
    people: [personOf('apv_a', 0, true), personOf('apv_b', 12, false), personOf('apv_c', 12, false)],
    tooFew: 0,
  },
})
const method = 'approval-report-1'

const issuer = makeIssuer()
type Signed = Readonly<Record<string, unknown>>
const signedPack = (claims: Signed = {}, by: 'report' | 'live' | 'epoch' = 'report') => {
  const payload = { iss: origin, iat: 1, sub: 'agt_1', mode: 'live', method, report: reportOf(), ...claims }
  return {
    report: payload.report,
    method: payload.method,
    jws: issuer.signAny(by, issuer.headerOf(by, 'approval-report+jwt'), payload),
  }
}
const verify = (pack: Signed) => verifyReport({ pack, issuer: origin, jwks: issuer.jwks })
const failedChecks = async (pack: Signed) =>
  (await verify(pack)).checks.filter(({ passed }) => !passed).map(({ name }) => name)

test('a pack of the issuer is verified without a request', async () => {
  const result = await verify(signedPack())
  assert.equal(result.ok, true, JSON.stringify(result.checks))
  assert.equal(result.claims?.['sub'], 'agt_1')
})

test('a pack that another key signed, of credentials or of epochs, is refused', async () => {
  assert.deepEqual(await failedChecks(signedPack({}, 'live')), ['signature'])
  assert.deepEqual(await failedChecks(signedPack({}, 'epoch')), ['signature'])
  assert.deepEqual(await failedChecks({ ...signedPack(), jws: 'x' }), ['signature'])
  assert.deepEqual(await failedChecks(signedPack({ iss: 'https://other.example' })), ['signature'])
  const credential = issuer.mint()
  assert.deepEqual(await failedChecks({ ...signedPack(), jws: credential }), ['signature'])
})

test('a pack that shows other figures than the signed ones is refused', async () => {
  const pack = signedPack()
  assert.deepEqual(await failedChecks({ ...pack, report: { ...pack.report, expired: 0 } }), ['answer'])
})

test('signed figures that do not follow from their counts are refused', async () => {
  const report = reportOf()
  const wider = { ...report.team, caught: { ...report.team.caught, low: 0 } }
  assert.deepEqual(await failedChecks(signedPack({ report: { ...report, team: wider } })), ['figures'])
  const people = report.perPerson.people.map((person) => ({ ...person, belowTeam: false }))
  assert.deepEqual(
    await failedChecks(signedPack({ report: { ...report, perPerson: { people, tooFew: 0 } } })),
    ['figures'],
  )
  assert.deepEqual(await failedChecks(signedPack({ method: 'approval-report-2' })), ['figures'])
})
