// Families of people who are hired with a proof of their own. Each attempt has another person: their own browser, network, passkey and
// proof. No issuer takes part: the proofs are stored as issuers leave them, so what is measured is what the service gives for them.
import type { StoredProofKind } from '../../../server/test/fixtures/people/stored-proofs.ts'
import { enrolByScript } from './enrolment.ts'
import type { Attempt, Outcome, PlayedFamily } from './family.ts'
import { askSite, outcomeOf, submitPresence } from './mint.ts'

/** A person joins the site with what they own. */
const hire = async (attempt: Attempt, proofs: readonly StoredProofKind[]): Promise<string> => {
  const memberId = await enrolByScript(attempt)
  await attempt.server.storeProofs(memberId, proofs)
  return memberId
}

const personhoodBy = (name: PlayedFamily['name'], proofs: readonly StoredProofKind[]): PlayedFamily => ({
  name,
  kind: 'personhood',
  manyNetworks: true,
  hasBrowser: false,
  fixed: [],
  aim: 'world_id',
  play: async (attempt) => {
    const memberId = await hire(attempt, proofs)
    return [outcomeOf(await askSite(attempt, 'verify-personhood', { memberId, minAssurance: 'high' }))]
  },
})

/** What the site permits each human in a day, and one act more. */
const actsPerHumanPerDay = 3

const limitActs = async ({ server, site }: Attempt): Promise<void> => {
  const presence = { minAssurance: 'high', maxActsPerHumanPerDay: actsPerHumanPerDay }
  const answer = await server.call('PATCH', '/api/agents/me', {
    key: site.apiKey,
    body: { policy: { presence } },
  })
  if (answer.status !== 200) throw new Error(`the site cannot limit acts: ${answer.text}`)
}

/** One owner acts as often as they can. */
const actLimit: PlayedFamily = {
  name: 'act_limit',
  kind: 'presence',
  manyNetworks: true,
  hasBrowser: false,
  fixed: [],
  aim: 'world_id',
  play: async (attempt) => {
    await limitActs(attempt)
    const memberId = await hire(attempt, ['world_id'])
    const outcomes: Outcome[] = []
    for (let act = 0; act <= actsPerHumanPerDay; act += 1)
      outcomes.push(await submitPresence(attempt, memberId))
    return outcomes
  },
}

export const ownerFamilies: readonly PlayedFamily[] = [
  personhoodBy('hired_owner', ['world_id']),
  personhoodBy('root_pair', ['world_id', 'sms']),
  actLimit,
]
