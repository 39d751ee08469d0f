import type { Tx } from '../platform/db/db.ts'
import type { OwnIssuers } from './companies/own-issuers.ts'
import { assertKind, type OutsideIssuer } from './port.ts'

/** The outside issuers of a deployment. */
export type Issuers = {
  /** An issuer that an agent's credentials may rest on; without an agent, one that every agent's may. */
  readonly find: (tx: Tx, name: string, agentId: string | undefined) => Promise<OutsideIssuer | undefined>
  /** An issuer, whichever agents it serves. */
  readonly findByName: (tx: Tx, name: string) => Promise<OutsideIssuer | undefined>
  /** Those that a person may show to this agent. */
  readonly list: (tx: Tx, agentId: string) => Promise<readonly OutsideIssuer[]>
}

const serves = ({ agents }: OutsideIssuer, agentId: string | undefined): boolean =>
  agents === undefined || (agentId !== undefined && agents.includes(agentId))

const noOwn: OwnIssuers = { find: async () => undefined, list: async () => [] }

/** Those of the operator, and for each agent those that its owners set up: their names are ids, which no operator gives. */
export const makeIssuers = (configured: readonly OutsideIssuer[], own: OwnIssuers = noOwn): Issuers => {
  for (const issuer of configured) assertKind(issuer)
  const byName = new Map(configured.map((issuer) => [issuer.name, issuer]))
  if (byName.size < configured.length)
    throw new Error(`two outside issuers have one name: ${configured.map(({ name }) => name).join(', ')}`)
  return {
    find: async (tx, name, agentId) => {
      const issuer = byName.get(name)
      if (issuer) return serves(issuer, agentId) ? issuer : undefined
      return agentId === undefined ? undefined : own.find(tx, name, agentId)
    },
    findByName: async (_tx, name) => byName.get(name),
    list: async (tx, agentId) => [
      ...configured.filter((issuer) => serves(issuer, agentId)),
      ...(await own.list(tx, agentId)),
    ],
  }
}
