import { isId } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { makeOidcIssuer } from '../oidc/adapter.ts'
import { lifeHoursMax } from '../oidc/entry.ts'
import { refused, type OutsideIssuer } from '../port.ts'
import { callsMax } from './rules.ts'
import { listServing, type CompanyRow } from './store.ts'

/** The issuers that the owners of an agent set up, for this agent alone. */
export type OwnIssuers = {
  readonly find: (tx: Tx, name: string, agentId: string) => Promise<OutsideIssuer | undefined>
  readonly list: (tx: Tx, agentId: string) => Promise<readonly OutsideIssuer[]>
}

/** Issuers that are kept with the metadata that they read; the one that was made first goes first. */
const keptMax = 500

const limitCalls = (issuer: OutsideIssuer): OutsideIssuer => {
  let running = 0
  const run = async <T>(work: () => Promise<T>) => {
    if (running >= callsMax) return refused('unavailable')
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
    }
  }
  return {
    ...issuer,
    begin: (...given) => run(() => issuer.begin(...given)),
    finish: (...given) => run(() => issuer.finish(...given)),
  }
}

const issuerOf = (ctx: Ctx, origin: string, row: CompanyRow): OutsideIssuer =>
  limitCalls(
    makeOidcIssuer(
      {
        // The id: two agents may give one name.
        name: row.issuer_id,
        issuer: row.issuer,
        clientId: row.client_id,
        clientSecret:
          row.client_secret_sealed === null
            ? undefined
            : ctx.secrets.open('company-secret', row.client_secret_sealed),
        trust: 'user',
        allowLoopback: ctx.config.loopback,
        subjectClaim: 'sub',
        tenant: undefined,
        admit: row.acr.length + row.amr.length === 0 ? undefined : { acr: row.acr, amr: row.amr },
        lifeHours: lifeHoursMax,
        agents: [row.agent_id],
        isOwn: true,
        scim: undefined,
      },
      { origin, clock: ctx.clock, log: ctx.log },
    ),
  )

export const makeOwnIssuers = (ctx: Ctx, origin: string): OwnIssuers => {
  const kept = new Map<string, { readonly changedAt: number; readonly issuer: OutsideIssuer }>()
  const keep = (row: CompanyRow): OutsideIssuer => {
    const known = kept.get(row.issuer_id)
    const changedAt = row.changed_at.getTime()
    if (known?.changedAt === changedAt) return known.issuer
    const issuer = issuerOf(ctx, origin, row)
    kept.delete(row.issuer_id)
    kept.set(row.issuer_id, { changedAt, issuer })
    const [first] = kept.keys()
    if (kept.size > keptMax && first !== undefined) kept.delete(first)
    return issuer
  }
  return {
    find: async (tx, name, agentId) => {
      if (!isId('iss_', name)) return undefined
      const [row] = await listServing(tx, agentId, name)
      return row && keep(row)
    },
    list: async (tx, agentId) => (await listServing(tx, agentId)).map(keep),
  }
}
