import { compactVerify, decodeProtectedHeader, importJWK } from 'jose'
import { credentialClaims } from '@pohf/protocol'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { JournalHead } from '../journal.ts'
import { payloadHash, type PublishedJwk } from '../rules.ts'
import { actKeyOf } from './mint-signer.ts'
import type { MissingCredential, PublishedStates } from './parts.ts'
import { listIdOf, statesOf } from './signed-lists.ts'

/** What an operator hands in: signed status lists and credentials that were found outside. */
export type SubmittedDocuments = {
  readonly lists: readonly (PublishedStates & { readonly head: JournalHead | undefined })[]
  readonly credentials: readonly MissingCredential[]
}

const refuse = (path: string, cause: unknown) =>
  new Refusal('validation_failed', {
    details: [{ path, code: 'invalid', message: 'not signed by a key of this service' }],
    cause,
  })

/** The lists of another cell are its own to restore: this cell publishes none of them. */
const refuseOtherCells = (ctx: Ctx, path: string, lists: readonly string[]): void => {
  const foreign = lists.find((list) => !list.startsWith(`${ctx.ids.cell}-`))
  if (foreign === undefined) return
  const message = `names the status list ${foreign} of cell ${foreign.slice(0, 2)}, and this is cell ${ctx.ids.cell}`
  throw new Refusal('validation_failed', { details: [{ path, code: 'other_cell', message }] })
}

type Kind = { readonly purposes: readonly string[]; readonly typ: string }
/** The payload of a token that a key of this service signed. */
const openToken = async (
  keys: readonly PublishedJwk[],
  { purposes, typ }: Kind,
  jwt: string,
): Promise<unknown> => {
  const { kid, typ: found } = decodeProtectedHeader(jwt)
  const key = keys.find((known) => known.kid === kid && purposes.includes(known.pohf_purpose))
  if (!key || found !== typ) throw new Error(`no key ${kid} for ${found}`)
  const { payload } = await compactVerify(jwt, await importJWK({ ...key }, 'ES256'), {
    algorithms: ['ES256'],
  })
  return JSON.parse(Buffer.from(payload).toString('utf8'))
}

type ListPayload = {
  readonly sub: string
  readonly pohf_version?: number
  readonly pohf_journal?: JournalHead
  readonly status_list: { readonly lst: string }
}

const credentialOf = (ctx: Ctx, payload: unknown): MissingCredential => {
  const claims = credentialClaims.parse(payload)
  const { uri, idx } = claims.status.status_list
  return {
    agentId: claims.agent,
    credentialId: claims.jti,
    signer: 'presented',
    batch: 0,
    // A purchase is the only act that a credential names.
    actKey: claims.purchase
      ? actKeyOf(ctx, {
          agentId: claims.agent,
          mode: claims.test === true ? 'test' : 'live',
          act: 'purchase',
          reference: claims.purchase.id,
        })
      : null,
    hash: payloadHash(claims),
    list: listIdOf(uri),
    index: idx,
    signedAt: new Date(claims.iat * 1_000),
    expiresAt: new Date(claims.exp * 1_000),
    charged: false,
    state: 'issued',
  }
}

/** Verifies what an operator hands in. Expired tokens count too: they prove what was signed. */
export const verifySubmittedDocuments = async (
  ctx: Ctx,
  keys: readonly PublishedJwk[],
  input: { readonly published: readonly string[]; readonly credentials: readonly string[] },
): Promise<SubmittedDocuments> => {
  const list = { purposes: ['status'], typ: 'statuslist+jwt' }
  const credential = { purposes: ['live', 'test'], typ: 'JWT' }
  const lists = await Promise.all(
    input.published.map(async (jwt) => {
      const payload = (await openToken(keys, list, jwt)) as ListPayload
      return {
        jwt,
        list: listIdOf(payload.sub),
        version: payload.pohf_version ?? 0,
        states: statesOf(payload.status_list.lst),
        head: payload.pohf_journal,
      }
    }),
  ).catch((error: unknown) => Promise.reject(refuse('body.published', error)))
  const credentials = await Promise.all(
    input.credentials.map(async (jwt) => credentialOf(ctx, await openToken(keys, credential, jwt))),
  ).catch((error: unknown) => Promise.reject(refuse('body.credentials', error)))
  refuseOtherCells(
    ctx,
    'body.published',
    lists.map((each) => each.list),
  )
  refuseOtherCells(
    ctx,
    'body.credentials',
    credentials.map((each) => each.list),
  )
  return { lists, credentials }
}
