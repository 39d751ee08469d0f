/** One part of a page, as the search knows it. The page in the browser and the build use the same options. */
export type SearchPart = {
  /** The address with the anchor of the part. */
  readonly id: string
  readonly title: string
  readonly heading: string
  readonly text: string
  readonly section: string
}

export const searchOptions = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'section'],
  searchOptions: { prefix: true, fuzzy: 0.15, combineWith: 'AND' as const, boost: { title: 6, heading: 3 } },
}
