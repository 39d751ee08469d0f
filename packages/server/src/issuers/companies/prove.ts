import { z } from 'zod'
import type { CompanyFault } from '@pohf/protocol'
import type { ReadTexts } from '../../platform/net/dns-texts.ts'
import type { send } from '../../platform/net/outbound.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { entraTenantOf, isEntraTenant, recordNameOf, recordValueOf } from './rules.ts'
import type { CompanyRow } from './store.ts'

export type ProveDeps = {
  readonly ctx: Pick<Ctx, 'config' | 'log'>
  readonly readTexts: ReadTexts
  readonly send: typeof send
}
type Company = Pick<CompanyRow, 'agent_id' | 'issuer_id' | 'issuer' | 'domain' | 'token'>

const callMs = 5_000
const metadataBytesMax = 262_144
const metadata = z.looseObject({ issuer: z.string().max(256) })

/** How the provider at this address calls itself; undefined where no public address answers so. */
const readIssuer = async (
  { ctx, send: sendOut }: ProveDeps,
  address: string,
): Promise<string | undefined> => {
  try {
    const { status, complete, body } = await sendOut({
      url: `${address.replace(/\/$/, '')}/.well-known/openid-configuration`,
      method: 'GET',
      headers: { accept: 'application/json' },
      timeoutMs: callMs,
      responseBytesMax: metadataBytesMax,
      trust: 'user',
      allowLoopback: ctx.config.loopback,
    })
    return status === 200 && complete ? metadata.parse(JSON.parse(body)).issuer : undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown error'
    ctx.log.info({ address, reason }, 'metadata of a company not read')
    return undefined
  }
}

const recordFault = async (
  { ctx, readTexts }: ProveDeps,
  { domain, token, agent_id: agentId, issuer_id: issuerId }: Company,
): Promise<CompanyFault | undefined> => {
  try {
    const texts = await readTexts(recordNameOf(domain))
    return texts.includes(recordValueOf(token)) ? undefined : 'record_missing'
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown error'
    ctx.log.info({ agentId, issuerId, domain, reason }, 'record of a company not read')
    return 'dns_unavailable'
  }
}

/** Whether the domain is of the agent's owners and the issuer is of the domain; undefined where both are. */
export const proveCompany = async (deps: ProveDeps, company: Company): Promise<CompanyFault | undefined> => {
  const { issuer, domain } = company
  const fault = await recordFault(deps, company)
  if (fault) return fault
  if (isEntraTenant(issuer)) {
    const tenant = await readIssuer(deps, entraTenantOf(domain))
    return tenant === issuer ? undefined : 'tenant_mismatch'
  }
  const found = await readIssuer(deps, issuer)
  if (found === undefined) return 'issuer_unavailable'
  return found === issuer ? undefined : 'issuer_mismatch'
}
