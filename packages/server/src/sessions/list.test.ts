import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import { openRecorder } from '../../test/fixtures/people/recorder.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<typeof harness.register>>

const list = async (agent: Agent, query = '') => {
  const answer = await harness.call('GET', `/api/agents/sessions${query}`, { key: agent.apiKey })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.sessions as Readonly<Record<string, unknown>>[]
}
const idsOf = (rows: Awaited<ReturnType<typeof list>>) => rows.map(({ sessionId }) => String(sessionId))

test('a session is listed from its start, and with its result once it is scored', async () => {
  const agent = await harness.register('test')
  const open = await openRecorder({ send: harness.call, site: agent.agentId })
  const [opened] = await list(agent)
  assert.deepEqual(
    [
      opened?.['sessionId'],
      opened?.['status'],
      opened?.['endedAt'],
      opened?.['durationMs'],
      opened?.['verified'],
    ],
    [open.sessionId, 'open', null, null, null],
  )
  const { sessionId } = await playSession(harness, { site: agent.agentId })
  const [played] = await list(agent)
  const read = await harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: agent.apiKey })
  for (const field of [
    'sessionId',
    'kind',
    'status',
    'startedAt',
    'endedAt',
    'quality',
    'verified',
    'flags',
    'reasons',
  ])
    assert.deepEqual(played?.[field], read.json[field], field)
  assert.equal(
    played?.['durationMs'],
    Date.parse(String(played?.['endedAt'])) - Date.parse(String(played?.['startedAt'])),
  )
})

test('filters by kind, status and verdict find the sessions', async () => {
  const agent = await harness.register('test')
  const { sessionId: human } = await makeScoredSession(harness, agent)
  const { sessionId: bot } = await makeScoredSession(harness, agent, {
    verified: false,
    reasons: ['quality_low'],
  })
  const { sessionId: work } = await makeScoredSession(harness, agent, { kind: 'work' })
  const { sessionId: place } = await makeScoredSession(harness, agent, { kind: 'presence' })
  await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId: human } })
  assert.deepEqual(idsOf(await list(agent)).toSorted(), [human, bot, work, place].toSorted())
  assert.deepEqual(idsOf(await list(agent, '?verified=false')), [bot])
  assert.deepEqual(idsOf(await list(agent, '?kind=work')), [work])
  assert.deepEqual(idsOf(await list(agent, '?kind=presence&verified=true')), [place])
  assert.deepEqual(idsOf(await list(agent, '?kind=view&verified=true')), [human])
  const [sealed, ...others] = await list(agent, '?status=sealed')
  assert.deepEqual([sealed?.['sessionId'], others.length], [human, 0])
  assert.match(String(sealed?.['credentialId']), /^crd_/)
  const [refused] = await list(agent, '?verified=false&status=scored')
  assert.deepEqual(refused?.['reasons'], ['quality_low'])
})
