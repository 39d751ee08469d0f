import { isId } from '@pohf/protocol'
import type { Page } from '../platform/http/call.ts'
import { returnPath } from './rules.ts'

/** The parameters of an address that an issuer leads back to are short. */
const queryMax = 16_384

/**
 * Where the issuer of an owner leads back to: an address of its own, so that the answer of one issuer is not taken for that of
 * another. The page of all issuers goes on, and learns the issuer from here alone.
 */
const ownReturnPage: Page = {
  path: `${returnPath}/:issuer`,
  handler: async ({ params, query }) => {
    const { issuer = '' } = params
    const parameters = new URLSearchParams({ ...query, issuer }).toString()
    if (!isId('iss_', issuer) || parameters.length > queryMax)
      return { status: 404, mediaType: 'text/plain; charset=utf-8', text: 'No such sign-in of a company.\n' }
    return {
      status: 303,
      mediaType: 'text/plain; charset=utf-8',
      text: '',
      headers: { location: `${returnPath}?${parameters}`, 'cache-control': 'no-store' },
    }
  },
}
export const pages: readonly Page[] = [ownReturnPage]
