import type { Mode } from '@pohf/protocol'

/** What is known of a member. `refused` says why no personhood credential may be minted. */
export type Member =
  | {
      readonly status: 'enrolled'
      readonly simulated: boolean
      readonly methods: readonly string[]
      readonly uniqueness: 'none'
    }
  | { readonly status: 'refused'; readonly reason: 'duplicate' | 'banned' }

const refusals = new Map<string, 'duplicate' | 'banned'>([
  ['mem_test_duplicate', 'duplicate'],
  ['mem_test_banned', 'banned'],
])

/** The member behind an id; undefined where there is none. */
export const memberOf = (mode: Mode, memberId: string): Member | undefined => {
  if (mode === 'live') return undefined
  const reason = refusals.get(memberId)
  if (reason) return { status: 'refused', reason }
  return { status: 'enrolled', simulated: true, methods: ['simulated'], uniqueness: 'none' }
}
