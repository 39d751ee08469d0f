import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { budgetSettings, moveClockTo, registerPayingAgent } from '../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../test/fixtures/people/attested-model.ts'
import { enrolMember } from '../../test/fixtures/people/member.ts'
import { openSecurityKey } from '../../test/fixtures/people/security-key.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({
  ...budgetSettings,
  ...model.settings,
  ROOT_ADDRESS_PER_HOUR: '2',
  ROOT_DEVICE_PER_DAY: '1',
})
const agent = await registerPayingAgent(harness)
const personhood = (memberId: string) =>
  harness.call('POST', '/api/agents/verify-personhood', { key: agent.apiKey, body: { memberId } })
const enrol = async (): Promise<string> => (await enrolMember(harness, agent)).memberId

test('personhood of a member whose network is busy names the step-up page, and none where the device is', async () => {
  await moveClockTo(harness, 9, 5)
  assert.equal((await personhood(await enrol())).status, 200)
  const second = await enrol()
  const busy = await personhood(second)
  assertRefusal(busy, 409, 'network_busy')
  const [{ stepUp }] = busy.json.details
  assert.deepEqual(
    stepUp.map(({ kind }: { kind: string }) => kind),
    ['authenticator'],
  )
  assert.equal((await harness.call('GET', new URL(stepUp[0].url).pathname)).status, 200)

  const key = openSecurityKey(harness, model)
  await key.attest(agent.apiKey, second)
  const stepped = await personhood(second)
  assert.deepEqual([stepped.status, stepped.json.assurance], [200, 'substantial'], stepped.text)
  const third = await enrol()
  await key.attest(agent.apiKey, third)
  const used = await personhood(third)
  assertRefusal(used, 409, 'network_busy')
  assert.equal(used.json.details, undefined)
})
