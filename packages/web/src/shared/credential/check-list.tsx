import type { CheckLine } from './outcome.ts'

const signLabels = { '✓': 'Passed', '✗': 'Failed', '–': 'Not checked' } as const
/** Checks as a list, each with its sign, and with a word for screen readers. */
export const CheckList = ({ lines }: { lines: readonly CheckLine[] }) => (
  <ul class="checks">
    {lines.map((line) => (
      <li key={line.text} class={line.sign === '✓' ? 'yes' : line.sign === '✗' ? 'bad' : 'no'}>
        <span class="sign" aria-hidden="true">
          {line.sign}
        </span>
        <span class="hidden">{signLabels[line.sign]}: </span>
        <span>{line.text}</span>
      </li>
    ))}
  </ul>
)
