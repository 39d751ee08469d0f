import type { Mode, RootClaim } from '@pohf/protocol'
import type { ShownRoot } from '../../roots/index.ts'

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)

/** What a root says of itself: the model of a device, or the issuer of an outside proof. */
const namesOf = ({ kind, name, issuer }: ShownRoot): Pick<RootClaim, 'model' | 'issuer'> => {
  if (kind === 'authenticator' || kind === 'app') return { model: name }
  return kind === 'payout_account' ? {} : { issuer: issuer ?? name }
}

/**
 * When a root was checked. One that did not answer in this act is the same at every agent of its person: to the second, its time would
 * tell two agents that they have the same person. So of it the month is said.
 */
const checkedAt = ({ fresh, at }: ShownRoot): number =>
  fresh ? secondsOf(at) : Date.UTC(at.getUTCFullYear(), at.getUTCMonth()) / 1_000

const claimOf = (root: ShownRoot): RootClaim => ({
  kind: root.kind,
  class: root.class,
  ...namesOf(root),
  counted: root.counted,
  fresh: root.fresh,
  at: checkedAt(root),
})

/**
 * The claim `roots` of a live credential, the strongest first. Software passkeys and enrolments are no roots, so a credential that
 * rests on them names the network. Test credentials have no roots.
 */
export const rootsClaim = (mode: Mode, roots: readonly ShownRoot[], at: Date): { roots?: RootClaim[] } => {
  if (mode === 'test') return {}
  const network: RootClaim = {
    kind: 'network',
    class: 'address',
    counted: false,
    fresh: true,
    at: secondsOf(at),
  }
  return { roots: roots.length === 0 ? [network] : roots.map(claimOf) }
}
