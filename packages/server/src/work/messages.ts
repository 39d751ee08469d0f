import type { Language } from '../members/index.ts'

/** The text of the worker's pages before their script runs; all other text is in the script. */
export const shellMessages: Readonly<
  Record<Language, { readonly title: string; readonly needsScript: string }>
> = {
  en: {
    title: 'Work',
    needsScript: 'This page needs JavaScript: it records the work in your browser, and only while you work.',
  },
  de: {
    title: 'Arbeit',
    needsScript:
      'Diese Seite braucht JavaScript: Sie zeichnet die Arbeit in Ihrem Browser auf, und nur solange Sie arbeiten.',
  },
}
