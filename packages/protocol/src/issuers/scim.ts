import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { json, queryInteger, text } from '../platform/fields.ts'

/** SCIM 2.0 (RFC 7643, 7644): the directory of a company says who is there. Its bodies have more fields than we read. */
export const scimMediaType = 'application/scim+json'

const issuer = text(128)
const userId = text(64)
const body = json(65_536)
const user = z.object({
  schemas: z.array(z.string()).max(4),
  id: z.string(),
  userName: z.string().optional(),
  externalId: z.string().optional(),
  active: z.boolean(),
  meta: z.object({ resourceType: z.literal('User'), location: z.string() }),
})
const common = {
  mediaType: scimMediaType,
  limit: 'directory',
} as const

export const config = operation({
  ...common,
  summary: 'Say what this SCIM service supports.',
  params: z.object({ issuer }),
  response: z.record(z.string(), z.unknown()),
})
export const find = operation({
  ...common,
  summary: 'Find a person of a company by `userName eq` or `externalId eq`.',
  params: z.object({ issuer }),
  query: z.object({
    filter: text(512).optional(),
    startIndex: queryInteger(1, 1_000_000).optional(),
    count: queryInteger(0, 1_000).optional(),
    attributes: text(512).optional(),
    excludedAttributes: text(512).optional(),
  }),
  response: z.object({
    schemas: z.array(z.string()).max(4),
    totalResults: z.int().min(0),
    startIndex: z.int().min(1),
    itemsPerPage: z.int().min(0),
    Resources: z.array(user).max(1),
  }),
})
export const create = operation({
  ...common,
  summary: 'Add a person of a company.',
  errors: ['scim_conflict'],
  params: z.object({ issuer }),
  body,
  response: user,
  also: { 201: user },
})
const one = { params: z.object({ issuer, userId }) }
export const read = operation({
  ...common,
  ...one,
  summary: 'Read a person of a company.',
  errors: ['not_found'],
  response: user,
})
export const replace = operation({
  ...common,
  ...one,
  summary: 'Replace a person of a company; `active: false` withdraws them at once.',
  errors: ['not_found', 'scim_conflict'],
  body,
  response: user,
})
export const change = operation({
  ...common,
  ...one,
  summary: 'Change a person of a company; `active: false` withdraws them at once.',
  errors: ['not_found', 'scim_conflict'],
  body,
  response: user,
})
export const remove = operation({
  ...common,
  ...one,
  summary: 'Delete a person of a company. They are withdrawn at once.',
  errors: ['not_found'],
  response: z.object({}),
  also: { 204: z.object({}) },
})
