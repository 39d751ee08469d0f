import { Resolver } from 'node:dns/promises'

/** The TXT records of a name; none where it has none. Throws where no resolver answers. */
export type ReadTexts = (name: string) => Promise<readonly string[]>

/** More records than anybody has at a name of this kind; the others are not read. */
const textsMax = 50
const attemptMs = 2_000
const attempts = 2

const hasNone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA')

/** Reads with these resolvers; without any, with those of the machine. */
export const makeReadTexts =
  (resolvers: readonly string[]): ReadTexts =>
  async (name) => {
    const resolver = new Resolver({ timeout: attemptMs, tries: attempts })
    if (resolvers.length > 0) resolver.setServers(resolvers)
    try {
      const records = await resolver.resolveTxt(name)
      return records.slice(0, textsMax).map((parts) => parts.join(''))
    } catch (error) {
      if (hasNone(error)) return []
      throw error
    }
  }
