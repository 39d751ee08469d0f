import type { Mode, RootClaim } from '@pohf/protocol'
import type { ShownRoot } from '../../roots/index.ts'

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)

/** What a root says of itself: the model of a device, or the issuer of an outside proof. */
const namesOf = ({ kind, name, issuer }: ShownRoot): Pick<RootClaim, 'model' | 'issuer'> => {
  if (kind === 'authenticator' || kind === 'app') return { model: name }
  return kind === 'payout_account' ? {} : { issuer: issuer ?? name }
}

const dayMs = 86_400_000
/**
 * A device answered in one act of one agent. A proof or an account stands behind the acts of its person at every agent, so a second
 * would tell two agents that they have the same person: the time of the act is named, or the day of the check.
 */
const timeOf = ({ kind, fresh, at }: ShownRoot, actAt: Date): number => {
  if (kind === 'authenticator' || kind === 'app') return secondsOf(at)
  return secondsOf(fresh ? actAt : new Date(Math.floor(at.getTime() / dayMs) * dayMs))
}

const claimOf = (root: ShownRoot, actAt: Date): RootClaim => ({
  kind: root.kind,
  class: root.class,
  ...namesOf(root),
  counted: root.counted,
  fresh: root.fresh,
  at: timeOf(root, actAt),
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
  return { roots: roots.length === 0 ? [network] : roots.map((root) => claimOf(root, at)) }
}
