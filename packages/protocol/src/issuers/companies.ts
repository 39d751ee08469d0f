import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { displayName, instant, text } from '../platform/fields.ts'

/** An agent has at most so many sign-ins of companies. */
export const companiesMax = 3

/** The host under a domain at which the record stands. */
export const recordHost = '_pohf-challenge'

/** What is wrong with the last check of a company. */
export const companyFaults = [
  'record_missing',
  'dns_unavailable',
  'tenant_mismatch',
  'issuer_mismatch',
  'issuer_unavailable',
] as const
export type CompanyFault = (typeof companyFaults)[number]

export const companyStates = ['waiting', 'ready', 'missing', 'stopped'] as const

/** Room for the host of the record within the 253 characters of a name. */
const domain = z
  .string()
  .min(4)
  .max(237)
  .regex(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/,
    'must be a domain in lower case, such as example.com; write another script as xn--…',
  )
const companyParams = z.object({ issuerId: text(64) })
const clientSecret = text(1_024).meta({
  description: 'Of the client that your identity provider made. It is stored sealed and never shown.',
})

/** As providers write `acr` and `amr`: printable ASCII without a space. */
const word = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    .regex(/^[!-~]+$/, 'must not contain a space, and only ASCII')

/** Which sign-ins count, by what the provider says of how the person signed in. */
const admission = z.object({
  acr: z.array(word(255)).max(16),
  amr: z.array(z.array(word(64)).min(1).max(8)).max(16),
})

export const company = z.object({
  issuerId: z.string(),
  name: z.string(),
  issuer: z.string().meta({ description: 'As the identity provider writes it, and as credentials name it.' }),
  domain: z.string(),
  clientId: z.string(),
  hasSecret: z.boolean(),
  admit: admission,
  record: z.object({ name: z.string(), value: z.string() }).meta({
    description: 'The TXT record to publish, and to keep: it is read every day.',
  }),
  redirectUri: z.string().meta({ description: 'The only one to register at the identity provider.' }),
  state: z.enum(companyStates).meta({
    description:
      'waiting: the record was never seen. ready: people can sign in. missing: the last check failed; people can sign in until `stopsAt`. stopped: no check succeeded for three days, and nobody can sign in.',
  }),
  fault: z.enum(companyFaults).nullable().meta({ description: 'Why the last check failed.' }),
  seenAt: instant().nullable().meta({ description: 'When a check last succeeded.' }),
  checkedAt: instant().nullable(),
  missingSince: instant().nullable(),
  stopsAt: instant().nullable(),
  createdAt: instant(),
  changedBy: z.string().meta({ description: 'The person of the account who changed it last.' }),
})

export const companyList = operation({
  summary: 'List the sign-ins of companies that the owners set up, with their state.',
  response: z.object({ companies: z.array(company).max(companiesMax) }),
})
export const companyCreate = operation({
  summary: 'Set up the sign-in of your company, by OpenID Connect.',
  errors: ['company_refused'],
  body: z.object({
    name: displayName(80),
    issuer: text(256),
    domain,
    clientId: text(256),
    clientSecret: clientSecret.optional(),
    admit: admission.optional(),
  }),
  response: company,
})
export const companyVerify = operation({
  summary: 'Check the record of the domain and the identity provider now.',
  errors: ['not_found', 'company_refused', 'rate_limited'],
  params: companyParams,
  response: company,
})
export const companyUpdate = operation({
  summary: 'Change the name, the client or the admitted sign-ins of a company.',
  errors: ['not_found', 'company_refused'],
  params: companyParams,
  body: z.object({
    name: displayName(80).optional(),
    clientId: text(256).optional(),
    clientSecret: clientSecret.nullable().optional(),
    admit: admission.optional(),
  }),
  response: company,
})
export const companyRemove = operation({
  summary: 'Remove the sign-in of a company. What it vouched for stops to count at once.',
  errors: ['not_found'],
  params: companyParams,
  response: z.object({ issuerId: z.string(), removed: z.literal(true) }),
})
