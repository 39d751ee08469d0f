import type { Line } from './outcome.ts'

const words = { '✓': 'Passed', '✗': 'Failed', '–': 'Not checked' } as const
/** Checks as a list, each with its sign, in words for who cannot see it. */
export const Lines = ({ lines }: { lines: readonly Line[] }) => (
  <ul class="checks">
    {lines.map((line) => (
      <li key={line.text} class={line.sign === '✓' ? 'yes' : line.sign === '✗' ? 'bad' : 'no'}>
        <span class="sign" aria-hidden="true">
          {line.sign}
        </span>
        <span class="hidden">{words[line.sign]}: </span>
        <span>{line.text}</span>
      </li>
    ))}
  </ul>
)
