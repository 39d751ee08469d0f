import type { Mode, RootClaim } from '@pohf/protocol'
import type { ShownRoot } from '../../roots/index.ts'

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1_000)

/** What a root says of itself: the model of a device, or the issuer of an outside proof. */
const namesOf = ({ kind, name, issuer }: ShownRoot): Pick<RootClaim, 'model' | 'issuer'> => {
  if (kind === 'authenticator' || kind === 'app') return { model: name }
  return kind === 'payout_account' ? {} : { issuer: issuer ?? name }
}

/**
 * A device answered in one act of one agent. A proof or an account stands behind the acts of its person at every agent, so its time to
 * the second would tell two agents that they have the same person: the time of the act is said where it answered in the act, else the
 * month of the check.
 */
const timeOf = ({ kind, fresh, at }: ShownRoot, actAt: Date): number => {
  if (kind === 'authenticator' || kind === 'app') return secondsOf(at)
  return fresh ? secondsOf(actAt) : Date.UTC(at.getUTCFullYear(), at.getUTCMonth()) / 1_000
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
