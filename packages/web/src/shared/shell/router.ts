/** Where in the console somebody is. It all stands behind the # of the address, which no server is told. */
type Route = { readonly path: readonly string[]; readonly query: URLSearchParams }

const decodeSegment = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const parseRoute = (hash: string): Route => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decodeSegment),
    query: new URLSearchParams(query),
  }
}

/** The address of a place. What is undefined is left out, so that one place has one address. */
export const hrefOf = (
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, value)
  return `#/${path.map(encodeURIComponent).join('/')}${params.size === 0 ? '' : `?${params.toString()}`}`
}
