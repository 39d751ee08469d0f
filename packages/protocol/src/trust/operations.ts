import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'

/**
 * directory: the key directory of one https origin (Web Bot Auth). jwks: the key set of a network (Visa TAP). issuer: who
 * signs the first hop of mandates.
 */
export const trustRootKinds = ['directory', 'jwks', 'issuer'] as const
export type TrustRootKind = (typeof trustRootKinds)[number]

const kind = z.enum(trustRootKinds)
const name = text(200).meta({
  description: 'The https origin of a directory, a name for a key set, the `iss` of an issuer.',
})
const root = z.object({
  kind,
  name: z.string(),
  keysUrl: z.url(),
  mode: z.enum(modes).meta({ description: 'The mode of every order that rests on it.' }),
  requireDigest: z.boolean().meta({ description: 'Refuses signatures that do not cover the body.' }),
  agents: z.int().min(0).meta({ description: 'The agents that have ordered by it.' }),
  reason: z.string(),
  addedAt: instant(),
})
export type TrustRoot = z.output<typeof root>

export const operatorList = operation({
  summary: 'List the trust roots: whose agents may order without an API key.',
  response: z.object({ roots: z.array(root).max(200) }),
})
export const operatorAdd = operation({
  summary: 'Trust a key directory, a key set or an issuer of mandates.',
  body: z.object({
    kind,
    name,
    keysUrl: text(500).optional().meta({ description: 'Required but for a directory, which has its own.' }),
    mode: z.enum(modes),
    requireDigest: z.boolean().optional(),
    reason: text(500),
  }),
  response: root,
})
export const operatorRemove = operation({
  summary: 'Remove a trust root. Its agents order no more, and their order tokens end.',
  errors: ['not_found'],
  body: z.object({ kind, name, reason: text(500) }),
  response: z.object({ kind, name: z.string() }),
})
