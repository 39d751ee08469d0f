import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Site } from '../platform/sign-in/own-page.ts'
import type { PasskeyVerifier } from '../platform/sign-in/passkey.ts'

/** An agent that somebody registered by API with a confirmed address. */
type ConfirmedAgent = {
  readonly agent_id: string
  readonly mode: Mode
  readonly name: string
  readonly created_at: Date
}

type AgentOfMode = { readonly agentId: string; readonly mode: Mode }
type UsableKey = {
  readonly hint: string
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly expires_at: Date | null
}

/** What the wiring passes in from other modules. */
export type AccountsDeps = {
  readonly ctx: Ctx
  readonly site: Site
  readonly passkeyVerifier: PasskeyVerifier
  /** Creates an agent of a proved address; the result is its id. */
  readonly addAgent: (
    tx: Tx,
    agent: {
      readonly name: string
      readonly contactEmail: string
      readonly mode: Mode
      readonly address: ClientAddress
    },
  ) => Promise<string>
  /** The name of an agent; undefined where it is suspended. */
  readonly findAgentName: (tx: Tx, agentId: string) => Promise<string | undefined>
  /** Agents with this confirmed address, newest first. */
  readonly listConfirmedAgents: (tx: Tx, email: string, limit: number) => Promise<readonly ConfirmedAgent[]>
  /** The keys of an agent that work now, newest first. */
  readonly listUsableKeys: (tx: Tx, agentId: string) => Promise<readonly UsableKey[]>
  /** Where events of an agent are sent, newest first. */
  readonly listWebhookUrls: (tx: Tx, agent: AgentOfMode) => Promise<readonly string[]>
  /** The sites that may use an agent. */
  readonly findSite: (
    tx: Tx,
    agentId: string,
  ) => Promise<{ readonly allowedOrigins: readonly string[] } | undefined>
  /** Revokes every key of an agent; the result is how many. */
  readonly revokeAllKeys: (tx: Tx, agent: AgentOfMode) => Promise<number>
  /** Disables every webhook of an agent; the result is how many. */
  readonly disableAllWebhooks: (tx: Tx, agent: AgentOfMode) => Promise<number>
  /** Forgets which keys and bearers are valid, after keys were revoked. */
  readonly clearKeyCache: () => void
  /** Forgets which bearers are valid, after a change to people or sessions. */
  readonly forgetBearers: () => void
}
