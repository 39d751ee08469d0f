import type { Language } from '../members/index.ts'

/** What stands on the worker's pages before their script runs; all else is in the script's own tables. */
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
