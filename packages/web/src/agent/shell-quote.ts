/** Quotes for a shell: a single quote ends the text, so it is written outside of it. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
