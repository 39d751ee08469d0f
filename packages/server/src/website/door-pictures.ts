import { doors, type DoorName } from '@pohf/protocol/story'
import { Html } from '../platform/http/html.ts'
import type { ColourName, Palette } from './rules.ts'

// A picture of each door: who acts, what happens, and what is left. Classes give the colours, so that a page draws them in its
// own and a file in both schemes.

const [width, height] = [440, 150]

const card = (x: number, y: number, w: number, h: number): string =>
  `<rect class="c" x="${x}" y="${y}" width="${w}" height="${h}" rx="8"/>`
const bar = (x: number, y: number, w: number): string =>
  `<rect class="g" x="${x}" y="${y}" width="${w}" height="7" rx="3.5"/>`
const arrow = (x: number, y: number): string => `<path class="a" d="M${x} ${y}h28m-6-5 6 5-6 5"/>`
const text = (x: number, y: number, words: string, kind = ''): string =>
  `<text${kind === '' ? '' : ` class="${kind}"`} x="${x}" y="${y}">${words}</text>`
const caption = (x: number, words: string): string => text(x, 143, words, 'm')
const button = (x: number, y: number, words: string): string =>
  `<rect class="b" x="${x}" y="${y}" width="76" height="24" rx="5"/>${text(x + 38, y + 17, words, 'w')}`
const seal = (x: number, y: number, r: number): string =>
  [
    `<circle class="s" cx="${x}" cy="${y}" r="${r}"/>`,
    `<circle class="s d" cx="${x}" cy="${y}" r="${r - 5}"/>`,
    `<path class="s k" d="M${x - r * 0.35} ${y}l${r * 0.25} ${r * 0.3} ${r * 0.45}-${r * 0.55}"/>`,
  ].join('')
const person = (x: number, y: number): string =>
  `<circle class="p" cx="${x}" cy="${y}" r="7"/><path class="p" d="M${x - 13} ${y + 25}a13 14 0 0 1 26 0z"/>`

const drawings: Readonly<Record<DoorName, readonly string[]>> = {
  'guard-a-tool': [
    card(8, 22, 122, 82),
    text(20, 46, 'wireMoney(', 'o'),
    text(28, 66, '120.00,', 'o'),
    text(28, 86, 'DE02…)', 'o'),
    arrow(140, 62),
    card(180, 6, 110, 116),
    text(193, 30, '120.00', 'h'),
    text(193, 50, 'to DE02…'),
    bar(193, 62, 70),
    button(193, 84, 'Approve'),
    arrow(300, 62),
    seal(384, 62, 36),
    caption(69, 'an agent calls'),
    caption(235, 'a person sees it'),
    caption(384, 'the tool runs'),
  ],
  'gate-a-form': [
    card(8, 6, 122, 116),
    bar(22, 24, 92),
    bar(22, 40, 64),
    `<rect class="c" x="20" y="56" width="98" height="26" rx="5"/><circle class="f" cx="34" cy="69" r="7"/>`,
    text(48, 74, '2 of 2'),
    button(20, 92, 'Send'),
    arrow(140, 62),
    card(180, 34, 110, 56),
    text(235, 58, 'POST', 'o m'),
    text(235, 78, '/siteverify', 'o m'),
    arrow(300, 62),
    seal(384, 62, 36),
    caption(69, 'a visitor answers'),
    caption(235, 'your server asks'),
    caption(384, 'a credential'),
  ],
  'count-people': [
    ...[6, 46, 86].flatMap((y, index) => [
      person(40, y + 9),
      `<path class="a" d="M66 ${y + 16}h52"/>`,
      card(124, y, 130, 32),
      text(138, y + 21, ['sub 7fa2…', 'sub 31c9…', 'sub b04d…'][index] ?? '', 'o'),
      `<path class="a d" d="M260 ${y + 16}h38"/>`,
      card(304, y, 130, 32),
      text(318, y + 21, ['sub e91c…', 'sub 0d56…', 'sub 88a3…'][index] ?? '', 'o'),
    ]),
    caption(40, 'people'),
    caption(189, 'as you know them'),
    caption(369, 'as others do'),
  ],
  'buy-human-work': [
    card(8, 14, 122, 98),
    text(20, 38, 'Which is', 'h'),
    text(20, 56, 'friendlier?', 'h'),
    `<circle class="f" cx="27" cy="76" r="5"/><circle class="c" cx="27" cy="95" r="5"/>`,
    bar(40, 73, 70),
    bar(40, 92, 56),
    arrow(140, 62),
    card(186, 22, 98, 74),
    person(235, 46),
    `<path class="a" d="M216 108h38"/>`,
    arrow(300, 62),
    card(338, 14, 94, 98),
    text(350, 38, 'Hello', 'h'),
    text(350, 55, 'there', 'h'),
    `<path class="f" d="M352 72l18 11-18 11z"/>`,
    seal(407, 83, 16),
    caption(69, 'a program asks'),
    caption(235, 'a worker answers'),
    caption(385, 'answer, replay'),
  ],
  'prove-attention': [
    card(8, 6, 122, 116),
    ...[20, 36, 52, 68, 84, 100].map((y, index) => bar(24, y, [90, 78, 90, 62, 84, 50][index] ?? 0)),
    `<rect class="s" x="16" y="45" width="106" height="54" rx="6"/>`,
    arrow(140, 62),
    card(180, 22, 110, 82),
    `<path class="t" d="M194 50h34m12 0h36"/><path class="a d" d="M228 50h12"/>`,
    `<circle class="f" cx="208" cy="78" r="8"/><circle class="f" cx="260" cy="78" r="8"/>`,
    `<path class="v" d="M204 78l3 4 5-7m44 3 3 4 5-7"/>`,
    arrow(300, 62),
    seal(384, 62, 36),
    caption(69, 'a page in view'),
    caption(235, 'time and answers'),
    caption(384, 'a credential'),
  ],
}

/** What a picture shows, for those who do not see it. */
const captionsOf = (name: DoorName): string =>
  drawings[name].flatMap((part) => /^<text class="m"[^>]*>([^<]*)/.exec(part)?.[1] ?? []).join(', ')

const titleOf = (name: DoorName): string =>
  `${doors.find((door) => door.name === name)?.title ?? name}: ${captionsOf(name)}`

/** In the colours of the page. */
export const doorPicture = (name: DoorName): Html =>
  new Html(
    `<svg class="door" viewBox="0 0 ${width} ${height}" role="img" aria-label="${titleOf(name)}">${drawings[name].join('')}</svg>`,
  )

const colours = [
  ['.c', 'fill', 'card'],
  ['.c', 'stroke', 'ink-3'],
  ['.g', 'fill', 'line'],
  ['.a', 'stroke', 'ink-3'],
  ['.s', 'stroke', 'seal'],
  ['.t', 'stroke', 'seal'],
  ['.f', 'fill', 'seal'],
  ['.b', 'fill', 'seal'],
  ['.p', 'fill', 'ink-2'],
  ['.v', 'stroke', 'card'],
  ['text', 'fill', 'ink'],
  ['.m', 'fill', 'ink-2'],
  ['.w', 'fill', 'card'],
] as const
const shapes = [
  ['text', 'font:13px var(--font, system-ui, sans-serif)'],
  ['.h', 'font-weight:600'],
  ['.o', 'font-family:var(--mono, ui-monospace, monospace)'],
  ['.m', 'text-anchor:middle'],
  ['.w', 'text-anchor:middle'],
  ['.a', 'fill:none'],
  ['.s', 'fill:none;stroke-width:1.5'],
  ['.t', 'stroke-width:6'],
  ['.v', 'fill:none;stroke-width:2'],
  ['.k', 'stroke-width:3'],
  ['.d', 'stroke-dasharray:2 3'],
] as const

const shapesOf = (before: string): string =>
  shapes.map(([selector, rule]) => `${before}${selector}{${rule}}`).join('\n')
const coloursOf = (before: string, valueOf: (colour: ColourName) => string): string =>
  colours
    .map(([selector, property, colour]) => `${before}${selector}{${property}:${valueOf(colour)}}`)
    .join('\n')

/** The rules of the pictures in a page. */
export const doorSheet = `${shapesOf('.door ')}\n${coloursOf('.door ', (colour) => `var(--${colour})`)}`

/** As a file of its own, for the documents. */
export const doorPictureFile = (
  name: DoorName,
  { light, dark }: { readonly light: Palette; readonly dark: Palette },
): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${titleOf(name)}">
<style>
${shapesOf('')}
${coloursOf('', (colour) => light[colour])}
svg{background:${light.paper}}
@media (prefers-color-scheme: dark){
${coloursOf('', (colour) => dark[colour])}
svg{background:${dark.paper}}
}
</style>
${drawings[name].join('\n')}
</svg>
`
