import type { Mode, RootClaim } from '@pohf/protocol'
import type { StrongRoot } from '../../roots/index.ts'

/** What a stronger root says of itself: the model of a device, or the issuer of an outside proof. */
const namedRoot = ({ kind, name }: StrongRoot): RootClaim => {
  if (kind === 'external') return { kind, issuer: name }
  return kind === 'payout_account' ? { kind } : { kind, model: name }
}

/**
 * The claim `root` of a live credential: the scarcest thing that was shown for it. Software passkeys and enrolments are no
 * roots, so a credential that rests on them names the network. Test credentials have no root.
 */
export const rootClaim = (mode: Mode, strong: StrongRoot | undefined): { root?: RootClaim } => {
  if (mode === 'test') return {}
  return { root: strong ? namedRoot(strong) : { kind: 'network' } }
}
