/** Where in the console somebody is. It all stands behind the # of the address, which no server is told. */
type Place = { readonly path: readonly string[]; readonly query: URLSearchParams }

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const placeOf = (hash: string): Place => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  }
}

/** The address of a place. What is undefined is left out, so that one place has one address. */
export const hrefOf = (
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const kept = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) kept.set(name, value)
  return `#/${path.map(encodeURIComponent).join('/')}${kept.size === 0 ? '' : `?${kept.toString()}`}`
}
