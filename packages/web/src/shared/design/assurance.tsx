import type { Assurance } from '@pohf/protocol'

const levels: Readonly<Record<Assurance, number>> = { low: 1, substantial: 2, high: 3 }

/** The one sign of assurance: three bars, and the word. It has no colour: that is of what stands behind a credential. */
export const AssuranceChip = ({ assurance, text = assurance }: { assurance: Assurance; text?: string }) => (
  <span class="chip none">
    <span class={`level level-${levels[assurance]}`} aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
    {text}
  </span>
)
