import { z } from 'zod'
import { assurances, rootClasses, rootKinds } from '../credentials/operations.ts'
import { operation } from '../platform/endpoint.ts'
import { instant, json, text } from '../platform/fields.ts'

/** Why a check with an outside issuer ends without a proof. */
export const issuerRules = [
  'denied',
  'expired',
  'state_unknown',
  'state_used',
  'wrong_person',
  'wrong_session',
  'wrong_origin',
  'wrong_state',
  'wrong_nonce',
  'not_trusted',
  'claim_missing',
  'signature',
  'code_refused',
  'withdrawn',
  'suspended',
  'erased',
] as const
export type IssuerRule = (typeof issuerRules)[number]

/** A check that was begun: the page keeps the state, sends the person to the issuer, and finishes with the answer. */
export const begunCheck = z.object({
  request: z.record(z.string(), z.unknown()).meta({
    description: 'What the page needs to ask the issuer. For a sign-in: `url`, where the person goes.',
  }),
  state: z.string().meta({ description: 'Sealed. Send it back with the answer of the issuer, once.' }),
  expiresAt: instant(),
})
export const finishedCheck = z.object({
  state: text(4_096),
  answer: json(65_536).meta({
    description:
      'The answer of the issuer. For a sign-in: the parameters of the address that it led back to.',
  }),
})
export const shownProof = z.object({
  issuer: z.string().meta({ description: 'The name of the issuer in the settings.' }),
  issuerId: z.string().meta({ description: 'The address or name by which credentials name the issuer.' }),
  kind: z.enum(rootKinds),
  class: z.enum(rootClasses),
  level: z.enum(assurances),
  counted: z.boolean(),
  checkedAt: instant(),
  expiresAt: instant(),
})
/** An issuer that a person may show to an agent of theirs. */
export const offeredIssuer = z.object({
  name: z.string(),
  issuerId: z.string(),
  lifeDays: z.number(),
  memberId: z
    .string()
    .optional()
    .meta({ description: 'A membership that the issuer serves: send it along.' }),
})

export const list = operation({
  summary: 'List the outside issuers that serve this agent.',
  response: z.object({
    issuers: z
      .array(
        z.object({
          name: z.string(),
          issuerId: z.string(),
          kind: z.enum(rootKinds),
          maxLevel: z.enum(assurances),
          counted: z.boolean(),
          lifeHours: z.number(),
          /** Whether an owner of the account set it up, for this agent alone. */
          isOwn: z.boolean(),
        }),
      )
      .max(200),
  }),
})
