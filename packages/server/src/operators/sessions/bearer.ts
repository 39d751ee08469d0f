import type { Ctx } from '../../platform/ops/context.ts'
import { readSignedToken, signToken } from '../../platform/ops/tokens.ts'
import { bearerFields, readBearerFields, type BearerClaims } from '../rules.ts'

/** Makes and reads the bearers of operators who signed in. */
export const makeBearers = ({ secrets, ids }: Pick<Ctx, 'secrets' | 'ids'>) => {
  const signerOf = () => ({ keys: secrets.accepted('operator-bearer'), cell: ids.cell })
  return {
    sign: (claims: BearerClaims): string => signToken(signerOf(), 'opb_', bearerFields(claims)),
    read: (text: string): BearerClaims | undefined =>
      readBearerFields(readSignedToken(signerOf(), 'opb_', text)),
  }
}
export type Bearers = ReturnType<typeof makeBearers>
