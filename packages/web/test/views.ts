/** `npm run battery -- views` looks at every view; the suite at those that cover each width and each colour scheme once. */
export const isEveryView = process.env['POHF_EVERY_VIEW'] === '1'

export type View = { readonly width: number; readonly colorScheme: 'light' | 'dark' }
const fewViews: readonly [View, ...View[]] = [
  { width: 320, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
]
const otherViews: readonly View[] = [
  { width: 320, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
]
/** Widths and colour schemes that a page must support. */
export const views: readonly [View, ...View[]] = isEveryView ? [...fewViews, ...otherViews] : fewViews
/** The view in which a test of all views goes from state to state. */
export const [firstView] = views
