/** `…` stands for any text. */
const patternOf = (text: string): RegExp =>
  new RegExp(
    text
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('[^\\n]*'),
  )

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The first path at which what was printed lacks something of what the page shows. More than is shown is right. */
const findMissing = (shown: unknown, printed: unknown, path: string): string | undefined => {
  if (typeof shown === 'string' && typeof printed === 'string')
    return new RegExp(`^${patternOf(shown).source}$`).test(printed) ? undefined : path
  if (Array.isArray(shown) && Array.isArray(printed))
    return shown
      .map((item: unknown, index) => findMissing(item, printed[index], `${path}[${index}]`))
      .find((found) => found !== undefined)
  if (isObject(shown) && isObject(printed))
    return Object.entries(shown)
      .map(([name, value]) => findMissing(value, printed[name], `${path}.${name}`))
      .find((found) => found !== undefined)
  return shown === printed ? undefined : path
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON objects of an output: the whole of it, each of its lines, and each that ends in a line of its own. curl ends no line. */
const valuesOf = (output: string): unknown[] =>
  [output, ...output.replaceAll('}{', '}\n{').split('\n'), ...output.split(/(?<=^\})\n/m)]
    .map(parse)
    .filter(isObject)

/** Says what of the shown output is missing in the real one; undefined where it fits. */
export const compareOutput = (
  { language, text }: { readonly language: 'json' | 'text'; readonly text: string },
  output: string,
): string | undefined => {
  if (language === 'text')
    return text
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '' && line !== '…' && !patternOf(line).test(output))
  const shown: unknown = JSON.parse(text)
  const missing = valuesOf(output).map((value) => findMissing(shown, value, '$'))
  if (missing.length === 0) return 'no JSON object was printed'
  return missing.includes(undefined) ? undefined : missing.join(', ')
}
