// Draws a seal from bytes: the same for the same bytes, and different for each id. People learn to recognise it; it proves nothing.

const size = 148
const centre = size / 2
const rim = centre - 4
/** Fewer points than the seal of /verify has: at this size nobody sees the difference. */
const points = 360

const place = (radius, angle) =>
  `${(centre + radius * Math.cos(angle)).toFixed(1)} ${(centre + radius * Math.sin(angle)).toFixed(1)}`

const strand = (bytes, ring, shift) => {
  const byte = (index) => bytes[index % bytes.length]
  const between = (index, low, high) => low + ((byte(index) * 256 + byte(index + 7)) / 65_535) * (high - low)
  const waves = 7 + (byte(ring * 3) % 11)
  const ripples = waves * (2 + (byte(ring * 3 + 1) % 3)) + 1
  const base = rim * (0.36 + ring * 0.165)
  const height = rim * between(ring * 5, 0.05, 0.11)
  const ripple = rim * between(ring * 5 + 2, 0.012, 0.035)
  const phase = between(ring * 5 + 4, 0, Math.PI * 2)
  const line = Array.from({ length: points + 1 }, (_, step) => {
    const angle = (step / points) * Math.PI * 2
    const wave = Math.sin(waves * angle + phase + (shift * Math.PI * 2) / 3)
    return place(base + height * wave + ripple * Math.sin(ripples * angle), angle)
  })
  return `M${line.join('L')}Z`
}

const ticks = Array.from({ length: 120 }, (_, index) => {
  const angle = (index / 120) * Math.PI * 2
  return `M${place(rim - (index % 10 ? 3 : 6), angle)}L${place(rim, angle)}`
}).join('')

const namespace = 'http://www.w3.org/2000/svg'
const shape = (name, attributes) => {
  const element = document.createElementNS(namespace, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  return element
}

/** The seal as an element. `level` is the assurance: 1 weaves the rim only, 3 all rings. */
export const drawSeal = (bytes, level) => {
  const seal = shape('svg', { class: 'seal', viewBox: `0 0 ${size} ${size}`, 'aria-hidden': 'true' })
  const line = { fill: 'none', stroke: 'currentColor', 'stroke-width': 0.7 }
  for (let ring = 4 - [1, 3, 4][level - 1]; ring < 4; ring++)
    for (let shift = 0; shift < 3; shift++)
      seal.append(
        shape('path', { ...line, d: strand(bytes, ring, shift), opacity: (0.42 + ring * 0.14).toFixed(2) }),
      )
  seal.append(
    shape('path', { ...line, d: ticks, opacity: 0.7 }),
    shape('circle', {
      class: 'boss',
      cx: centre,
      cy: centre,
      r: rim * 0.22,
      stroke: 'currentColor',
      'stroke-width': 1.2,
    }),
    shape('path', {
      ...line,
      d: 'M-9 0l6 7L10 -8',
      transform: `translate(${centre} ${centre})`,
      'stroke-width': 3,
      'stroke-linecap': 'round',
      'stroke-linejoin': 'round',
    }),
  )
  return seal
}
