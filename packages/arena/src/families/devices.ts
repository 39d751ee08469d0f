// Families that bring a device's word for a session that no person took part in. The devices are of our own making, under a
// root that the attacked server trusts: what they prove is what a bought one would prove.
import { createPasskey, makePasskey } from '../../../server/test/fixtures/people/authenticator.ts'
import {
  makeAppAttestation,
  makeAppDevice,
  sha256,
} from '../../../server/test/fixtures/people/device-attestation.ts'
import type { Attempt, FixedItem, PlayedFamily } from './family.ts'
import { askSite, verifySession } from './mint.ts'
import { playBot } from './sessions.ts'

/** A device answers within a second or two, so one serves the volume at which prices are stated. */
const actsPerDay = 10_000
/** Assumed, not measured: after a year the device is worn out, or its model or app is suspended. */
const deviceDays = 365
const oneDevice = (item: string): FixedItem => ({ item, quantity: 1, lifeActs: actsPerDay * deviceDays })

type Evidence = (challenge: string) => Promise<{ readonly method: string; readonly evidence: unknown }>

/** Brings a device's evidence for this session to the service, through the site. The device signs for this session alone. */
const attestSession = async (attempt: Attempt, sessionId: string, make: Evidence): Promise<void> => {
  const { json } = await askSite(attempt, 'attest/challenge', { subjectRef: sessionId })
  const { nonce, challengeB64url } = json as { nonce: string; challengeB64url: string }
  const answer = await askSite(attempt, 'attest/verify', {
    nonce,
    subjectRef: sessionId,
    ...(await make(challengeB64url)),
  })
  const { attested } = (answer.json ?? {}) as { attested?: boolean }
  if (attested !== true) throw new Error(`attestation refused: ${answer.text}`)
}

/** A new key of one attested authenticator: its batch certificate says the model, and no certificate says which unit. */
const authenticatorEvidence =
  ({ server: { model } }: Attempt, origin: string): Evidence =>
  async (challenge) => ({
    method: 'webauthn',
    evidence: {
      credential: createPasskey(
        makePasskey(),
        { challenge, origin, aaguid: model.aaguid },
        { fmt: 'packed', batch: model.batch },
      ),
    },
  })

const appEvidence =
  ({ server: { model } }: Attempt, appId: string): Evidence =>
  async (challenge) => {
    const device = await makeAppDevice()
    const attestationObject = await makeAppAttestation(device, {
      root: model.root,
      intermediate: model.intermediate,
      appId,
      clientDataHash: sha256(challenge),
    })
    return {
      method: 'app_attest',
      evidence: {
        keyId: device.keyId.toString('base64'),
        attestationObject: attestationObject.toString('base64'),
      },
    }
  }

/** The site says which apps and relying parties are its own. */
const own = { appId: 'TEAM012345.example.arena.app', origin: 'https://arena.example', rpId: 'arena.example' }
const nameOwnApps = async ({ server, site }: Attempt): Promise<void> => {
  const answer = await server.call('PATCH', '/api/agents/me', {
    key: site.apiKey,
    body: {
      attestation: {
        appAttest: { appIds: [own.appId] },
        webauthn: { origins: [own.origin], rpIds: [own.rpId] },
      },
    },
  })
  if (answer.status !== 200) throw new Error(`the site cannot name its app: ${answer.text}`)
}

const keyFarm: PlayedFamily = {
  name: 'key_farm',
  kind: 'view',
  manyNetworks: false,
  hasBrowser: false,
  fixed: [oneDevice('authenticator')],
  aim: 'authenticator',
  play: async (attempt) => {
    const sessionId = await playBot('lean_script', attempt)
    await attestSession(attempt, sessionId, authenticatorEvidence(attempt, attempt.server.url))
    return [await verifySession(attempt, sessionId)]
  },
}

const agentApp = (
  item: string,
  aim: 'app' | 'authenticator',
  evidenceOf: (attempt: Attempt) => Evidence,
): PlayedFamily => ({
  name: 'agent_app',
  kind: 'view',
  manyNetworks: false,
  hasBrowser: false,
  fixed: [oneDevice(item)],
  aim,
  play: async (attempt) => {
    await nameOwnApps(attempt)
    const sessionId = await playBot('lean_script', attempt)
    await attestSession(attempt, sessionId, evidenceOf(attempt))
    return [await verifySession(attempt, sessionId)]
  },
})

export const deviceFamilies: readonly PlayedFamily[] = [
  keyFarm,
  agentApp('phone', 'app', (attempt) => appEvidence(attempt, own.appId)),
  agentApp('authenticator', 'authenticator', (attempt) => authenticatorEvidence(attempt, own.origin)),
]
