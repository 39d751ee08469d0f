/** Colours of one scheme by their names in the stylesheet. */
export type Palette = Readonly<Record<ColourName, string>>
export const colourNames = [
  'paper',
  'card',
  'line',
  'ink',
  'ink-2',
  'ink-3',
  'seal',
  'seal-soft',
  'warn',
  'warn-soft',
  'stop',
  'stop-soft',
  'test',
  'test-soft',
  'plot-grid',
] as const
export type ColourName = (typeof colourNames)[number]

/** Text on its background, as the pages use them. */
const textPairs: readonly (readonly [text: ColourName, background: ColourName])[] = [
  ...(['ink', 'ink-2', 'ink-3', 'seal', 'warn', 'stop', 'test'] as const).flatMap((text) =>
    (['paper', 'card'] as const).map((background) => [text, background] as const),
  ),
  // The main button and its state under the pointer.
  ['paper', 'ink'],
  ['paper', 'ink-2'],
  ['ink-2', 'plot-grid'],
  ['seal', 'seal-soft'],
  ['warn', 'warn-soft'],
  ['stop', 'stop-soft'],
  ['test', 'test-soft'],
]

/** The least contrast of text by WCAG 2.2, level AA. */
const contrastMin = 4.5

const channelsOf = (colour: string): readonly number[] =>
  [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16) / 255)

/** Relative luminance by WCAG 2.2. */
const luminanceOf = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour).map((value) =>
    value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  )
  return 0.212_6 * red + 0.715_2 * green + 0.072_2 * blue
}

/** The contrast ratio of two colours, `#rrggbb`: 1 to 21. */
export const contrastOf = (one: string, other: string): number => {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** The pairs of text and background of a palette that are hard to read. */
export const contrastFaults = (
  palette: Palette,
): readonly { readonly text: ColourName; readonly background: ColourName; readonly contrast: number }[] =>
  textPairs
    .map(([text, background]) => ({
      text,
      background,
      contrast: contrastOf(palette[text], palette[background]),
    }))
    .filter(({ contrast }) => contrast < contrastMin)

const skipString = (text: string, from: number): number => {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/**
 * The line, from 1, of each value of a JSON text that can be parsed, by its path in dots. The parser of JavaScript tells positions
 * only of what it cannot parse.
 */
export const linesOfJson = (text: string): ReadonlyMap<string, number> => {
  const lines = new Map<string, number>()
  const places: { readonly path: string; index: number | undefined; key: string }[] = []
  let line = 1
  const pathHere = (): string => {
    const place = places.at(-1)
    if (!place) return ''
    const name = place.index === undefined ? place.key : String(place.index)
    return place.path === '' ? name : `${place.path}.${name}`
  }
  for (let at = 0; at < text.length;) {
    const character = text[at] ?? ''
    const place = places.at(-1)
    if (character === '"') {
      const end = skipString(text, at)
      const isKey = place !== undefined && place.index === undefined && /^\s*:/.test(text.slice(end))
      if (isKey && place) place.key = JSON.parse(text.slice(at, end)) as string
      lines.set(pathHere(), lines.get(pathHere()) ?? line)
      at = end
      continue
    }
    if (character === '\n') line += 1
    if (character === '{' || character === '[') {
      const path = pathHere()
      lines.set(path, lines.get(path) ?? line)
      places.push({ path, index: character === '[' ? 0 : undefined, key: '' })
    }
    if (character === '}' || character === ']') places.pop()
    if (character === ',' && place?.index !== undefined) place.index += 1
    at += 1
  }
  return lines
}

/** The parts of a deployment that the status page shows. */
export const partNames = ['api', 'database', 'signer', 'worker', 'chain'] as const
export type PartName = (typeof partNames)[number]
/** `unknown`: the check of this part could not run. `off`: the deployment does not have it. */
export type PartState = 'working' | 'failing' | 'unknown' | 'off'
export type PartStates = Readonly<Record<PartName, PartState>>
