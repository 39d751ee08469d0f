// What a browser asks for: a page rather than data, and in which language.

/** The languages of pages for people. */
export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** The language of the translation: the chosen one, else the browser's most preferred one that is supported. */
export const languageOf = (chosen: string | undefined, accepted: string | undefined): Language => {
  const acceptedTags = (accepted ?? '')
    .slice(0, 512)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const weight = parameters
        .map((one) => /^\s*q=([\d.]+)$/.exec(one)?.[1])
        .find((one) => one !== undefined)
      return { tag: tag.slice(0, 2), weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
  return [chosen ?? '', ...acceptedTags].flatMap((tag) => languages.filter((one) => one === tag))[0] ?? 'en'
}

/**
 * Whether the caller is a browser that opens an address: it names HTML and no JSON. A program that accepts anything, such as
 * curl or `fetch` without a header, is none.
 */
export const acceptsHtml = (accept: string | undefined): boolean => {
  const types = (accept ?? '').slice(0, 1_024).split(',')
  const names = types
    .filter((part) => !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(part))
    .map((part) => part.split(';')[0]?.trim().toLowerCase())
  return names.includes('text/html') && !names.includes('application/json')
}
