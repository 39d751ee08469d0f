import type { ApprovalFigures } from '../wire.ts'

type BarProps = {
  readonly share: ApprovalFigures['caught']
  /** The share of the team, as a dashed line. */
  readonly mark?: number | null
  readonly isBelow?: boolean
}

/** A share from 0 to 100 percent with its interval. The text beside it says the same. */
export const IntervalBar = ({ share: { share, low, high }, mark = null, isBelow = false }: BarProps) => {
  if (share === null || low === null || high === null) return null
  return (
    <svg class={`plot interval ${isBelow ? 'below' : ''}`} height="18" aria-hidden="true">
      <line class="axis" x1="0%" x2="100%" y1="9" y2="9" />
      {mark === null ? null : (
        <line class="threshold" x1={`${mark * 100}%`} x2={`${mark * 100}%`} y1="0" y2="18" />
      )}
      <rect class="range" x={`${low * 100}%`} width={`${(high - low) * 100}%`} y="5" height="8" rx="4" />
      <circle class="point" cx={`${share * 100}%`} cy="9" r="4.5" />
    </svg>
  )
}
