import type { SealState } from './seal-state.ts'

const marks: Readonly<Record<SealState, string>> = {
  valid: 'M-9 0l6 7L10 -8',
  test: 'M-8 -7H8M0 -7V9',
  revoked: 'M-8 -8L8 8M8 -8L-8 8',
  expired: 'M-9 0H9',
  waiting: 'M-4 -8V8M4 -8V8',
  forged: 'M0 -9V3M0 8.5V9',
  blank: '',
}

const size = 148
const centre = size / 2
const rim = centre - 4

const point = (radius: number, angle: number): string =>
  `${(centre + radius * Math.cos(angle)).toFixed(2)} ${(centre + radius * Math.sin(angle)).toFixed(2)}`

/** Four woven rings whose waves come from the bytes: the same for everyone, different for each id. */
const rosette = (bytes: Uint8Array): { path: string; opacity: number }[] => {
  const byte = (index: number) => bytes[index % bytes.length] ?? 0
  const between = (index: number, low: number, high: number) =>
    low + ((byte(index) * 256 + byte(index + 7)) / 65_535) * (high - low)
  return [0, 1, 2, 3].flatMap((ring) => {
    const waves = 7 + (byte(ring * 3) % 11)
    const ripples = waves * (2 + (byte(ring * 3 + 1) % 3)) + 1
    const base = rim * (0.36 + ring * 0.165)
    const height = rim * between(ring * 5, 0.05, 0.11)
    const ripple = rim * between(ring * 5 + 2, 0.012, 0.035)
    const phase = between(ring * 5 + 4, 0, Math.PI * 2)
    return [0, 1, 2].map((strand) => {
      const points = Array.from({ length: 481 }, (_, step) => {
        const angle = (step / 480) * Math.PI * 2
        const wave = Math.sin(waves * angle + phase + (strand * Math.PI * 2) / 3)
        return point(base + height * wave + ripple * Math.sin(ripples * angle), angle)
      })
      return { path: `M${points.join('L')}Z`, opacity: 0.42 + ring * 0.14 }
    })
  })
}

const tick = (index: number): string => {
  const angle = (index / 120) * Math.PI * 2
  return `M${point(rim - (index % 10 === 0 ? 6 : 3), angle)}L${point(rim, angle)}`
}
const rimPath = Array.from({ length: 120 }, (_, index) => tick(index)).join('')

/** A rim in pieces: nothing here was sealed by anybody. */
const brokenRim = [0, 1, 2, 3, 4]
  .map((piece) => {
    const from = piece * 1.2566 + 0.12 * (piece % 2)
    const radius = rim - (piece % 3) * 3
    return `M${point(radius, from)}A${radius} ${radius} 0 0 1 ${point(radius, from + 0.92)}`
  })
  .join('')

/** A credential's seal. People learn to recognise it; it is never a proof, so readers of screens are spared it. */
export const Seal = ({ bytes, state }: { bytes: Uint8Array | undefined; state: SealState }) => (
  <svg class={`seal ${state}`} viewBox={`0 0 ${size} ${size}`} aria-hidden="true">
    {bytes && state !== 'forged' && state !== 'blank' ? (
      <g class="weave" fill="none" stroke="currentColor" stroke-width="0.7">
        {rosette(bytes).map(({ path, opacity }) => (
          <path key={path} d={path} opacity={opacity} />
        ))}
        <path d={rimPath} stroke-width="0.8" opacity="0.7" />
      </g>
    ) : (
      <path
        d={brokenRim}
        fill="none"
        stroke="currentColor"
        stroke-width="1.6"
        stroke-linecap="round"
        opacity="0.8"
      />
    )}
    {marks[state] === '' ? null : (
      <>
        <circle
          class="boss"
          cx={centre}
          cy={centre}
          r={rim * 0.22}
          stroke="currentColor"
          stroke-width="1.2"
        />
        <path
          d={marks[state]}
          transform={`translate(${centre} ${centre})`}
          fill="none"
          stroke="currentColor"
          stroke-width="3"
          stroke-linecap="round"
          stroke-linejoin="round"
        />
      </>
    )}
  </svg>
)
