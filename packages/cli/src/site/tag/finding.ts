export type Finding = {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** What to do about it. */
  readonly hint: string | null
}

/** Text of a page in one short line: control characters and invisible ones are shown as their numbers. */
export const printable = (text: string, length = 400): string => {
  const shown = text
    .slice(0, length)
    .replaceAll(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu,
      (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`,
    )
  return text.length > length ? `${shown}…` : shown
}

export const ok = (check: string, message: string): Finding => ({
  check,
  level: 'ok',
  message: printable(message, 1_000),
  hint: null,
})
export const warning = (check: string, message: string, hint: string): Finding => ({
  check,
  level: 'warning',
  message: printable(message, 1_000),
  hint: printable(hint, 1_000),
})
export const problem = (check: string, message: string, hint: string): Finding => ({
  ...warning(check, message, hint),
  level: 'problem',
})
