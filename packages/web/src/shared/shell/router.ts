/** The current page of the console. It is in the fragment of the address, which browsers do not send. */
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

/** The address of a route. Undefined parameters are left out, so that one route has one address. */
export const hrefOf = (
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, value)
  return `#/${path.map(encodeURIComponent).join('/')}${params.size === 0 ? '' : `?${params.toString()}`}`
}
