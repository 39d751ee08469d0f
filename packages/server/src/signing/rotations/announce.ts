import type { EventType, Mode } from '@pohf/protocol'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { publishAll } from '../../platform/queue/outbox.ts'
import type { Job } from '../../platform/queue/worker.ts'
import type { KeyPurpose } from '../rules.ts'
import type { Signer } from '../signer-client.ts'
import {
  insertRotations,
  lockOpenRotation,
  updateRotationTold,
  type CredentialPurpose,
  type Rotation,
} from './store.ts'

type AnnounceDeps = {
  readonly ctx: Ctx
  readonly signer: Pick<Signer, 'list'>
  /** Provided by the wiring: agents with a webhook endpoint for this type of events, after an id. */
  readonly listSubscribers: (
    tx: Tx,
    type: EventType,
    page: { readonly after: string; readonly limit: number },
  ) => Promise<readonly { readonly agentId: string; readonly mode: Mode }[]>
}

/** The purposes whose keys sign credentials, and the mode of the agents that have such credentials. */
const modes: Readonly<Record<CredentialPurpose, Mode>> = {
  live: 'live',
  onchain: 'live',
  test: 'test',
  'onchain-test': 'test',
}
const signsCredentials = (purpose: KeyPurpose): purpose is CredentialPurpose => purpose in modes

/** Successors that wait to sign. One that is not admitted is not published, and does not begin to sign. */
const recordRotations = async ({ ctx, signer }: AnnounceDeps): Promise<void> => {
  const pending = (await signer.list()).flatMap(
    ({ kid, purpose, state, admitted, activeFrom }): Rotation[] =>
      state === 'pending' && admitted && signsCredentials(purpose)
        ? [{ kid, purpose, mode: modes[purpose], activateAt: new Date(activeFrom) }]
        : [],
  )
  if (pending.length > 0) await inTransaction(ctx, 'system', (tx) => insertRotations(tx, pending))
}

/** Tells one page of subscribers about one rotation; false where everybody was told of all. */
const announcePage = ({ ctx, listSubscribers }: AnnounceDeps, limit: number): Promise<boolean> =>
  inTransaction(ctx, 'system', async (tx) => {
    const rotation = await lockOpenRotation(tx)
    if (!rotation) return false
    const { kid, purpose, mode, activateAt, toldUntil } = rotation
    const type = 'key.rotation_scheduled' as const
    const page = await listSubscribers(tx, type, { after: toldUntil, limit })
    const data = { kid, purpose, activateAt: activateAt.toISOString() }
    await publishAll(
      tx,
      page.filter((agent) => agent.mode === mode).map((agent) => ({ ...agent, type, subject: kid, data })),
    )
    await updateRotationTold(tx, kid, page.length === limit ? page.at(-1)?.agentId : undefined)
    return true
  })

/** How many agents one transaction tells. */
const subscriberPage = 1_000
/**
 * Publishes `key.rotation_scheduled` once for each successor of a key and each agent that subscribed. A key is pending for a
 * day at least, so a minute costs little of the notice.
 */
export const rotationJob = (deps: AnnounceDeps, limit = subscriberPage): Job => ({
  name: 'key rotations',
  everyMs: 60_000,
  run: async () => {
    await recordRotations(deps)
    return (await announcePage(deps, limit)) ? 1 : 0
  },
})
