import type { Assurance } from '@pohf/protocol'

const levels: Readonly<Record<Assurance, number>> = { low: 1, substantial: 2, high: 3 }

/** The one sign of assurance: three bars, and the word. Low is grey, because a script alone can reach it. */
export const AssuranceChip = ({ assurance, text = assurance }: { assurance: Assurance; text?: string }) => (
  <span class={`chip ${assurance === 'low' ? 'none' : 'ok'}`}>
    <span class={`level level-${levels[assurance]}`} aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
    {text}
  </span>
)
