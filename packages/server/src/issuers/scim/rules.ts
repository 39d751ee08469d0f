import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Directory } from '../port.ts'

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

/** A directory writes booleans as texts too. */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false', 'True', 'False'])])
  .transform((value) => value === true || value === 'true' || value === 'True')
const name = z.string().min(1).max(256)

/** What is read of a person; a directory sends names and addresses too, and they are dropped. */
export const scimUser = z.looseObject({
  userName: name,
  externalId: name.optional(),
  active: flag.default(true),
})
export type ScimUser = z.output<typeof scimUser>

const operation = z.looseObject({
  op: z.string().max(16).toLowerCase(),
  path: z.string().max(256).optional(),
  value: z.unknown().optional(),
})
const patch = z.looseObject({ Operations: z.array(operation).min(1).max(64) })

/** What a patch says of `active`: the last that it says; undefined where it says nothing, null where it cannot be read. */
export const activeOf = (body: unknown): boolean | undefined | null => {
  const parsed = patch.safeParse(body)
  if (!parsed.success) return null
  let active: boolean | undefined
  for (const { op, path, value } of parsed.data.Operations) {
    if (op !== 'replace' && op !== 'add') continue
    const said = path === undefined ? (value as { active?: unknown } | null)?.active : value
    if (said === undefined || (path !== undefined && path.toLowerCase() !== 'active')) continue
    const read = flag.safeParse(said)
    if (!read.success) return null
    active = read.data
  }
  return active
}

export type ScimFilter = { readonly by: 'userName' | 'externalId'; readonly value: string }
/** `userName eq "…"` or `externalId eq "…"`, which is all that directories ask for; undefined for another filter. */
export const readFilter = (text: string): ScimFilter | undefined => {
  const [, by, quoted] = /^\s*(userName|externalId)\s+eq\s+("(?:[^"\\]|\\["\\/])*")\s*$/i.exec(text) ?? []
  if (by === undefined || quoted === undefined) return undefined
  const value = JSON.parse(quoted) as string
  return value === '' ? undefined : { by: by.toLowerCase() === 'username' ? 'userName' : 'externalId', value }
}

export const tokenHashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Whether the header carries the token of the directory. */
export const isAuthorized = (directory: Directory | undefined, header: string | undefined): boolean => {
  const [, token = ''] = /^Bearer ([\x21-\x7e]{1,512})$/.exec(header ?? '') ?? []
  return directory !== undefined && timingSafeEqual(tokenHashOf(token), directory.tokenHash)
}
