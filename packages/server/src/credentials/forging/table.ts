import { createHash } from 'node:crypto'
import type { ForgingFile } from '@pohf/protocol'
import { decodeProtectedHeader } from 'jose'
import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Signer } from '../../signing/index.ts'
import { forgingPayload } from './rules.ts'

type SignedTable = {
  readonly table: string
  readonly kid: string
  readonly etag: string
  readonly at: number
}

/** Signed again every day, so that a cached copy never refers to a key that is about to be removed. */
const signAgainMs = 86_400_000

const signTable = async (ctx: Ctx, signer: Signer, file: ForgingFile): Promise<SignedTable> => {
  const table = await signer.signTyped('pohf-forging+jwt', forgingPayload(file, ctx.config.BASE_URL))
  return {
    table,
    kid: decodeProtectedHeader(table).kid ?? '',
    etag: `"${createHash('sha256').update(table).digest('base64url').slice(0, 22)}"`,
    at: ctx.clock.now().getTime(),
  }
}

/** The signed table of this process. Readers that come together share one signature. */
const makeSignedTable = (ctx: Ctx, signer: Signer, file: ForgingFile): (() => Promise<SignedTable>) => {
  let signed: SignedTable | undefined
  let signing: Promise<SignedTable> | undefined
  const isUsable = async ({ kid, at }: SignedTable): Promise<boolean> =>
    Math.abs(ctx.clock.now().getTime() - at) < signAgainMs &&
    (await signer.publicKeys()).some((key) => key.kid === kid)
  return async () => {
    if (signed && (await isUsable(signed))) return signed
    signing ??= signTable(ctx, signer, file).finally(() => {
      signing = undefined
    })
    signed = await signing
    return signed
  }
}

/** Serves the price table. After 90 days the same table is still served, although it has expired. */
export const makeForgingTable = (ctx: Ctx, signer: Signer, file: ForgingFile) => {
  const findTable = makeSignedTable(ctx, signer, file)
  return async (ifNoneMatch: string | undefined) => {
    const { table, etag } = await findTable()
    const headers = { 'cache-control': 'public, max-age=3600, stale-if-error=86400', etag }
    // A cache that compressed the response sends the tag back as a weak one.
    const known = (ifNoneMatch ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
    return known
      ? new ApiResponse(undefined, {
          status: 304,
          headers,
          raw: { mediaType: 'application/json', text: '' },
        })
      : new ApiResponse({ table }, { headers })
  }
}
