import { useEffect, useState } from 'preact/hooks'

/** Where in the console somebody is. It all stands behind the # of the address, which no server is told. */
export type Place = { readonly path: readonly string[]; readonly query: URLSearchParams }

export const placeOf = (hash: string): Place => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path.split('/').filter((part) => part !== ''),
    query: new URLSearchParams(query),
  }
}

export const usePlace = (): Place => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const read = () => setHash(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return placeOf(hash)
}

/** The address of a place. What is undefined is left out, so that one place has one address. */
export const hrefOf = (
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const kept = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return `#/${path.map(encodeURIComponent).join('/')}${kept.length === 0 ? '' : `?${new URLSearchParams(kept).toString()}`}`
}
