import type { ApprovalFigures, ApprovalReport } from '@pohf/protocol'
import {
  findBelowTeam,
  knownBadMin,
  shareOf,
  type ApprovalView,
  type ShownField,
} from '@pohf/verify/approvals'
import type { Counts } from './store.ts'

const noCounts: Omit<Counts, 'approver'> = {
  decisions: 0,
  approved: 0,
  denied: 0,
  knownBad: 0,
  caught: 0,
  measured: 0,
  fast: 0,
  medianSecondsInView: null,
  medianAttention: null,
}
/** The figures of the sums of one person or of all. */
export const figuresOf = (counts: Omit<Counts, 'approver'> = noCounts): ApprovalFigures => ({
  decisions: counts.decisions,
  approved: counts.approved,
  denied: counts.denied,
  caught: shareOf(counts.caught, counts.knownBad),
  fast: shareOf(counts.fast, counts.measured),
  medianSecondsInView: counts.medianSecondsInView,
  medianAttention: counts.medianAttention,
})

const peopleMax = 200
type PersonCounts = Counts & { readonly approver: string }

/**
 * The people with at least `knownBadMin` known-bad requests, smallest share caught first, and whether each is below the
 * team.
 */
export const perPersonOf = (
  counts: readonly PersonCounts[],
  names: ReadonlyMap<string, string | null>,
): NonNullable<ApprovalReport['perPerson']> => {
  const shown = counts.filter(({ knownBad }) => knownBad >= knownBadMin).slice(0, peopleMax)
  const below = findBelowTeam(
    shown.map(({ approver, caught, knownBad }) => ({ id: approver, caught: { n: caught, of: knownBad } })),
  )
  return {
    people: shown
      .map((person) => ({
        ...figuresOf(person),
        approver: person.approver,
        name: names.get(person.approver) ?? person.approver,
        belowTeam: below.has(person.approver),
      }))
      .toSorted((one, other) => (one.caught.share ?? 1) - (other.caught.share ?? 1)),
    tooFew: counts.length - shown.length,
  }
}

/**
 * Most adults read 175 to 300 English words a minute (Brysbaert 2019, doi 10.1016/j.jml.2019.104047). The fast end is used, so that
 * a fast reader is not counted as somebody who did not read.
 */
const wordsPerSecond = 5
/** An English word with the space after it. Account numbers and scripts without spaces have no words to count. */
const charactersPerWord = 6
/** To find the page, and to press. */
const fixedSeconds = 2
const readingSecondsMax = 600

const charactersOf = ({ label, text }: ShownField): number => label.length + text.length

/** How long a fast reader needs for everything that the page shows of an action. */
export const readingSeconds = (view: ApprovalView): number => {
  const fields = [...view.critical, ...view.fields, view.words.title, view.words.summary]
  const characters = fields.reduce((sum, field) => sum + charactersOf(field), 0)
  const seconds = fixedSeconds + characters / charactersPerWord / wordsPerSecond
  return Math.min(readingSecondsMax, Math.ceil(seconds))
}
