import MiniSearch from 'minisearch'
import type { RenderedPage } from './markdown.ts'
import { searchOptions, type SearchPart } from './search-options.ts'

export type SearchPage = {
  readonly address: string
  readonly title: string
  readonly section: string
  readonly rendered: RenderedPage
  /** Titles and headings only: these pages are many, and their words would bury those of the guides. */
  readonly isBrief: boolean
}

/** Words of code such as hashes and base64 are no search terms, and make a third of the index. */
const longWord = /\S{41,}/g

const partsOf = ({ address, title, section, rendered, isBrief }: SearchPage): SearchPart[] =>
  isBrief
    ? [
        {
          id: address,
          title,
          section,
          heading: rendered.headings
            .slice(1)
            .map(({ text }) => text)
            .join(' '),
          text: '',
        },
      ]
    : rendered.parts
        .filter(({ heading }) => heading !== undefined)
        .map(({ heading, text }) => ({
          id: heading && heading.level > 1 ? `${address}#${heading.anchor}` : address,
          title,
          section,
          heading: heading && heading.level > 1 ? heading.text : '',
          text: text.replaceAll(longWord, ' '),
        }))

/** The index of all pages, as JSON that the browser loads. */
export const searchIndexOf = (pages: readonly SearchPage[]): string => {
  const index = new MiniSearch<SearchPart>(searchOptions)
  index.addAll(pages.flatMap(partsOf))
  return JSON.stringify(index)
}
