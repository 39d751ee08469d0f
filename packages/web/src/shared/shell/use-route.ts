import { useEffect, useState } from 'preact/hooks'
import { parseRoute } from './router.ts'

/** Where somebody is, and again whenever that changes. */
export const useRoute = () => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const read = () => setHash(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return parseRoute(hash)
}
