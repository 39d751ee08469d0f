import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { answers, question, sentence } from '@pohf/protocol/story'
import { z } from 'zod'
import { ConfigFaults } from '../platform/ops/config.ts'
import { colourNames, contrastFaults, linesOfJson, type ColourName, type Palette } from './rules.ts'

const fileBytesMax = 65_536
const cardBytesMax = 102_400

const text = (max: number) => z.string().trim().min(1).max(max)
const colour = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #0b6b50')
const colours = z.partialRecord(z.enum(colourNames), colour)

/** What a deployment may replace. Every field may be left out. */
const brandingFile = z.strictObject({
  name: text(40).optional(),
  headline: text(120).optional(),
  lead: text(600).optional(),
  description: text(200).optional(),
  footer: text(200).optional(),
  links: z
    .array(
      z.strictObject({
        label: text(40),
        url: z
          .string()
          .max(500)
          .regex(/^(https:\/\/|\/(?!\/)|mailto:)\S+$/, 'must be https://…, mailto:… or a path'),
      }),
    )
    .max(8)
    .optional(),
  socialCard: text(4_096).optional(),
  colours: z.strictObject({ light: colours.optional(), dark: colours.optional() }).optional(),
})
type BrandingFile = z.infer<typeof brandingFile>
type Scheme = 'light' | 'dark'

/** The texts, colours and the picture of the pages of this module. */
export type Branding = {
  readonly name: string
  readonly headline: string
  readonly lead: string
  readonly description: string
  readonly footer: string
  readonly links: readonly { readonly label: string; readonly url: string }[]
  /** All colours of each scheme, and those of them that differ from the stylesheet. */
  readonly palettes: Readonly<Record<Scheme, Palette>>
  readonly changedColours: Readonly<Record<Scheme, Partial<Palette>>>
  /** The picture that other sites show beside a link; undefined where it would show another name. */
  readonly socialCard: Buffer | undefined
}

const designUrl = (name: string): URL => new URL(`../../../web/src/shared/design/${name}`, import.meta.url)
/** The tokens of the design, then its components. */
export const designSheet = ['base.css', 'components.css']
  .map((name) => readFileSync(designUrl(name), 'utf8'))
  .join('\n')

/** The colours that the stylesheet sets before and within its part for dark screens. */
const readPalette = (scheme: Scheme): Palette => {
  const [light = '', dark = ''] = designSheet.split('@media (prefers-color-scheme: dark)')
  const part = (scheme === 'light' ? light : dark).split('}')[0] ?? ''
  const found = new Map(
    [...part.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
  )
  return Object.fromEntries(
    colourNames.map((name) => {
      const value = found.get(name)
      if (value === undefined) throw new Error(`base.css has no colour --${name} in its ${scheme} scheme`)
      return [name, value]
    }),
  ) as Palette
}
const palettes: Readonly<Record<Scheme, Palette>> = { light: readPalette('light'), dark: readPalette('dark') }

const ownCard = (): Buffer => readFileSync(new URL('../../assets/card.png', import.meta.url))

/** What the pages say without a file. */
export const ownTexts = {
  name: 'PoHF',
  headline: question,
  lead: `${answers.forWhom} ${answers.fiveMinutes}`,
  description: sentence,
  footer: 'Open source, and self-hosted.',
} as const

type FileFault = { readonly path: string; readonly message: string }

const nameOf = (path: string, name: ColourName): string => `${path}.${name}`

/** Unreadable pairs of the merged colours, each at a colour that the file sets. */
const colourFaults = (file: BrandingFile): FileFault[] =>
  (['light', 'dark'] as const).flatMap((scheme) => {
    const changed = file.colours?.[scheme] ?? {}
    const merged: Palette = { ...palettes[scheme], ...changed }
    const path = `colours.${scheme}`
    return contrastFaults(merged)
      .filter(({ text: name, background }) => name in changed || background in changed)
      .map(({ text: name, background, contrast }) => ({
        path: nameOf(path, name in changed ? name : background),
        message: `${name} on ${background} has a contrast of ${contrast.toFixed(2)}; 4.5 is the least`,
      }))
  })

/** The picture that the file names, relative to the file. */
const readCard = (folder: string, path: string): Buffer | string => {
  try {
    const bytes = readFileSync(resolve(folder, path))
    if (bytes.length > cardBytesMax) return `names a file of more than ${cardBytesMax} bytes`
    return bytes.subarray(1, 4).toString('latin1') === 'PNG' ? bytes : 'names a file that is not a PNG'
  } catch {
    return 'names a file that is not readable'
  }
}

const readText = (path: string): string => {
  try {
    if (statSync(path).size <= fileBytesMax) return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new ConfigFaults([`BRANDING_FILE names a file that is not readable (${reason})`])
  }
  throw new ConfigFaults([`BRANDING_FILE names a file of more than ${fileBytesMax} bytes`])
}

/** Where the parser of JavaScript stopped. */
const syntaxFault = (source: string, error: unknown): string => {
  const message = error instanceof Error ? error.message : ''
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? source.length)
  return `BRANDING_FILE line ${source.slice(0, position).split('\n').length}: is not JSON`
}

const parseFile = (source: string): unknown => {
  try {
    return JSON.parse(source)
  } catch (error) {
    throw new ConfigFaults([syntaxFault(source, error)])
  }
}

/** An unknown field is a fault at its own line. */
const schemaFaults = (error: z.ZodError): FileFault[] =>
  error.issues.flatMap((issue): FileFault[] => {
    const path = issue.path.join('.')
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : undefined
    if (!keys) return [{ path, message: issue.message }]
    return keys.map((key) => ({
      path: path === '' ? key : `${path}.${key}`,
      message: 'is not a known field',
    }))
  })

const refuse = (source: string, faults: readonly FileFault[]): void => {
  if (faults.length === 0) return
  const lines = linesOfJson(source)
  throw new ConfigFaults(
    faults.map(
      ({ path, message }) => `BRANDING_FILE line ${lines.get(path) ?? 1}: ${path || 'the file'} ${message}`,
    ),
  )
}

/** Reads and checks the file of the operator. Without one, the pages have our own name, colours and texts. */
export const readBranding = (path: string | undefined): Branding => {
  const none = { palettes, changedColours: { light: {}, dark: {} }, links: [] }
  if (path === undefined) return { ...ownTexts, ...none, socialCard: ownCard() }
  const source = readText(path)
  const parsed = brandingFile.safeParse(parseFile(source))
  if (!parsed.success) refuse(source, schemaFaults(parsed.error))
  const file = parsed.data ?? {}
  const card = file.socialCard === undefined ? undefined : readCard(dirname(path), file.socialCard)
  refuse(source, [
    ...colourFaults(file),
    ...(typeof card === 'string' ? [{ path: 'socialCard', message: card }] : []),
  ])
  const { light = {}, dark = {} } = file.colours ?? {}
  const isRenamed = file.name !== undefined && file.name !== ownTexts.name
  return {
    name: file.name ?? ownTexts.name,
    headline: file.headline ?? ownTexts.headline,
    lead: file.lead ?? ownTexts.lead,
    description: file.description ?? ownTexts.description,
    footer: file.footer ?? ownTexts.footer,
    links: file.links ?? [],
    palettes: { light: { ...palettes.light, ...light }, dark: { ...palettes.dark, ...dark } },
    changedColours: { light, dark },
    socialCard: Buffer.isBuffer(card) ? card : isRenamed ? undefined : ownCard(),
  }
}
