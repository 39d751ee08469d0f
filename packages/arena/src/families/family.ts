import type { Assurance, CredentialKind, ForgingFile, RootClaim } from '@pohf/protocol'
import type { AttackedServer } from '../../../server/test/fixtures/processes/attacked-server.ts'
import type { Random } from '../random.ts'

/** Every known way to get credentials without the human whom they are about. What finding and paying a person costs is only priced. */
export const familyNames = [
  'lean_script',
  'protocol_bot',
  'os_input',
  'stealth_browser',
  'enrol_loop',
  'proxy_pool',
  'key_farm',
  'agent_app',
  'hired_owner',
  'root_pair',
  'act_limit',
] as const
export type FamilyName = (typeof familyNames)[number]

type PricedFamily = ForgingFile['inputs']['families'][number]
/** Something bought once: so many of it, for so many credentials. */
export type FixedItem = PricedFamily['fixed'][number]

/**
 * What a family gets and needs. Seconds and bytes are for one attempt, whatever became of it. A success rate of 0: the
 * family got none, and has no price.
 */
export type MeasuredFamily = PricedFamily & { readonly name: FamilyName; readonly kind: CredentialKind }

/** A credential that was minted, or the code of the refusal. */
export type Outcome =
  | {
      readonly assurance: Assurance
      /** The kinds of the roots that the credential names, the strongest first. */
      readonly roots: readonly [RootClaim['kind'], ...RootClaim['kind'][]]
      readonly onchain: boolean
      /** Whom the site sees: the claim `sub`. */
      readonly subject: string
    }
  | { readonly refused: string }

export type Site = { readonly agentId: `agt_${string}`; readonly apiKey: string }

/** The inputs of one attempt. */
export type Attempt = {
  readonly server: AttackedServer
  readonly site: Site
  /** Where the attacker's scripts come from. Browsers come from this machine's own address. */
  readonly address: string
  readonly random: Random
  readonly signal: AbortSignal
}

/** A family that is played for one kind of credential. */
export type PlayedFamily = {
  readonly name: FamilyName
  readonly kind: CredentialKind
  /** Whether each attempt comes from a network of its own. */
  readonly manyNetworks: boolean
  /** Whether it drives a browser: a few of those fill a machine. */
  readonly hasBrowser: boolean
  readonly fixed: readonly FixedItem[]
  /** The root by which it tries to reach `substantial`. Where it does not, a row with a rate of 0 says so. */
  readonly aim: RootClaim['kind'] | undefined
  /** Gives one outcome for each credential that it asked for. */
  readonly play: (attempt: Attempt) => Promise<readonly Outcome[]>
}
