import { addresses, catalogueAddress, type DocumentFacts } from './addresses.ts'

/** RFC 9727: where a crawler that knows only the host finds the documents of the API. */
export const apiCatalogue = ({ baseUrl }: DocumentFacts): string => {
  const links = addresses.map(({ path, relation, mediaType, title }) => ({
    relation,
    target: { href: `${baseUrl}${path}`, type: mediaType, title },
  }))
  return JSON.stringify({
    linkset: [
      { anchor: `${baseUrl}${catalogueAddress}`, item: [{ href: `${baseUrl}/` }] },
      {
        anchor: `${baseUrl}/`,
        ...Object.fromEntries(
          [...Map.groupBy(links, ({ relation }) => relation)].map(([relation, group]) => [
            relation,
            group.map(({ target }) => target),
          ]),
        ),
      },
    ],
  })
}
