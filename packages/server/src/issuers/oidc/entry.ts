import { z } from 'zod'
import { isLoopbackHost } from '../../platform/net/loopback.ts'

/** Hours that a sign-in counts: a person who left the company is out within this time, whatever the company tells us. */
export const lifeHoursMax = 24

const isIssuerAddress = (address: string): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, search, hash, username, password } = new URL(address)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))
  return isSafe && search === '' && hash === '' && username === '' && password === ''
}

/** The addresses at which Entra signs in accounts of every tenant. */
const anyTenant = /^https:\/\/login\.microsoftonline\.[a-z.]+\/(common|organizations|consumers)(\/|$)/

export const issuerAddress = z
  .string()
  .max(256)
  .refine(isIssuerAddress, 'must be an https address without a query, or http on this machine')
  .refine(
    (address) => !anyTenant.test(address),
    'signs in accounts of every tenant: name the address with the id of your tenant',
  )

const acrValue = z.string().min(1).max(255).regex(/^\S+$/, 'must not contain a space')
const amrValue = z.string().min(1).max(64)
const admission = z
  .strictObject({
    acr: z.array(acrValue).max(16).default([]),
    amr: z.array(z.array(amrValue).min(1).max(8)).max(16).default([]),
  })
  .refine(({ acr, amr }) => acr.length + amr.length > 0, 'admits no sign-in: name values of acr or amr')

const filePath = z.string().min(1).max(4_096)

const clientSettings = {
  issuer: issuerAddress,
  clientId: z.string().min(1).max(256),
  tenant: z.string().min(1).max(255).optional(),
  tenantClaim: z.enum(['tid', 'hd']).default('tid'),
  subjectClaim: z.enum(['sub', 'oid']).default('sub'),
  admit: admission.optional(),
}
type TenantParts = { readonly tenant?: string | undefined; readonly subjectClaim: 'sub' | 'oid' }
/** The object id of Entra is unique within one tenant alone. */
const hasTenant = ({ tenant, subjectClaim }: TenantParts): boolean =>
  subjectClaim === 'sub' || tenant !== undefined
const tenantFault = { path: ['tenant'], error: 'is required where subjectClaim is oid' }

/** An entry of ISSUERS_FILE. */
export const oidcEntry = z
  .strictObject({
    name: z.string(),
    adapter: z.literal('oidc'),
    ...clientSettings,
    clientSecretFile: filePath.optional(),
    lifeHours: z.int().min(1).max(lifeHoursMax).default(lifeHoursMax),
    agents: z
      .array(z.string().regex(/^agt_[0-9a-z]{10,64}$/, 'must be the id of an agent, agt_…'))
      .min(1)
      .max(100)
      .optional(),
    scim: z
      .strictObject({
        tokenFile: filePath,
        subject: z.enum(['externalId', 'userName']).default('externalId'),
      })
      .optional(),
  })
  .refine(hasTenant, tenantFault)
