import { scimMediaType } from '@pohf/protocol'
import { ApiResponse } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'
import type { CheckDeps } from '../check.ts'
import type { Directory, OutsideIssuer } from '../port.ts'
import { humanHashOf } from '../rules.ts'
import { findUser, lockHuman, updateUserState, type UserRow } from '../store.ts'
import { isAuthorized, scimUser, userSchema, type ScimUser } from './rules.ts'

export type ScimDeps = CheckDeps & {
  /** Injected by the wiring: takes the word of an issuer back, for the human with this hash. */
  readonly withdrawProof: (tx: Tx, issuer: string, codeHash: Buffer) => Promise<void>
}
/** A call of a directory: the issuer in its address, and its bearer token. */
export type ScimCall = { readonly issuer: string; readonly authorization: string | undefined }
export type ScimIssuer = OutsideIssuer & { readonly directory: Directory }

/** Whether an issuer exists is not told to a caller without its token. */
export const requireDirectory = async (
  tx: Tx,
  { issuers }: ScimDeps,
  { issuer: name, authorization }: ScimCall,
): Promise<ScimIssuer> => {
  const issuer = await issuers.findByName(tx, name)
  if (!issuer?.directory || !isAuthorized(issuer.directory, authorization))
    throw new Refusal('invalid_api_key', {
      message: 'The token is not that of the directory of this issuer.',
    })
  return { ...issuer, directory: issuer.directory }
}

export const parseUser = (body: unknown): ScimUser => {
  const parsed = scimUser.safeParse(body)
  if (parsed.success) return parsed.data
  throw new Refusal('validation_failed', {
    details: parsed.error.issues.slice(0, 10).map(({ path, message }) => ({
      path: ['body', ...path].join('.'),
      code: 'scim',
      message,
    })),
  })
}

/** The hashes of a person. Neither the name nor the number of the account is stored. */
export const hashesOf = ({ ctx }: ScimDeps, { directory }: ScimIssuer, user: ScimUser) => {
  const key = ctx.secrets.derive('external-codes')
  const code = directory.codeOf(user)
  if (code === undefined)
    throw new Refusal('validation_failed', {
      details: [
        {
          path: 'body.externalId',
          code: 'scim',
          message: 'the issuer knows its people by externalId, and this one has none',
        },
      ],
    })
  return { codeHash: humanHashOf(key, code), nameHash: nameHashOf(key, user.userName) }
}
export const nameHashOf = (key: Buffer, userName: string): Buffer =>
  hmacOf(key).update(`userName\0${userName.toLowerCase()}`).digest()

type Sent = Partial<Pick<ScimUser, 'userName' | 'externalId'>>
/** A person as a directory sees them: with the names that it sent in this call, because we keep none. */
export const presentUser = (
  { ctx }: ScimDeps,
  { name }: Pick<OutsideIssuer, 'name'>,
  { user_id: id, state }: Pick<UserRow, 'user_id' | 'state'>,
  sent: Sent = {},
) => ({
  schemas: [userSchema],
  id,
  userName: sent.userName ?? id,
  ...(sent.externalId === undefined ? {} : { externalId: sent.externalId }),
  active: state === 'active',
  meta: {
    resourceType: 'User' as const,
    location: `${ctx.config.BASE_URL}/api/scim/${encodeURIComponent(name)}/Users/${id}`,
  },
})

/** In the media type of SCIM. */
export const scimAnswer = <T>(body: T, status = 200): ApiResponse<T> =>
  new ApiResponse(body, {
    status,
    ...(status === 204 ? {} : { raw: { mediaType: scimMediaType, text: JSON.stringify(body) } }),
  })

/** Changes the state of a person. Who is not active any more is withdrawn in the same transaction. */
export const setState = async (
  tx: Tx,
  { withdrawProof }: ScimDeps,
  { name }: Pick<OutsideIssuer, 'name'>,
  user: UserRow,
  state: UserRow['state'],
): Promise<UserRow> => {
  await lockHuman(tx, name, user.code_hash)
  if (user.state !== state) await updateUserState(tx, name, user.user_id, state)
  if (state !== 'active') await withdrawProof(tx, name, user.code_hash)
  return { ...user, state }
}

type Worked = { readonly user: UserRow; readonly sent?: Sent }
/** Runs `work` on one person of the directory that calls, and answers with what became of them. */
export const withUser = (
  deps: ScimDeps,
  call: ScimCall & { readonly userId: string },
  work: (tx: Tx, issuer: ScimIssuer, user: UserRow) => Promise<Worked>,
) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const issuer = await requireDirectory(tx, deps, call)
    const known = await findUser(tx, issuer.name, call.userId)
    if (!known || known.state === 'deleted') throw new Refusal('not_found', { message: 'No such person.' })
    const { user, sent } = await work(tx, issuer, known)
    return presentUser(deps, issuer, user, sent)
  })
