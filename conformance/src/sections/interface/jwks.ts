import { at, expectAbsent, expectEqual, expectThat, filledListAt, textAt } from '../../expect.ts'
import { expectStatus } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { oncePerRun } from '../../run-context.ts'

const jwks = 'GET /.well-known/jwks.json'
const answered = oncePerRun((world) => world.http.get('/.well-known/jwks.json'))

export const publicKeys: Section = {
  name: 'Public keys',
  statements: [
    {
      id: 'jwks.served',
      title: 'the key set is a JSON object with at least one key',
      needs: [jwks],
      run: async (world) => {
        const answer = await answered(world)
        expectStatus(answer, 200)
        filledListAt(answer.body, 'keys')
      },
    },
    {
      id: 'jwks.es256',
      title: 'every key is one for ES256: elliptic curve P-256 with both coordinates',
      needs: [jwks],
      run: async (world) => {
        for (const key of filledListAt((await answered(world)).body, 'keys')) {
          expectEqual(at(key, 'kty'), 'EC', 'kty')
          expectEqual(at(key, 'crv'), 'P-256', 'crv')
          textAt(key, 'x')
          textAt(key, 'y')
        }
      },
    },
    {
      id: 'jwks.no-private-part',
      title: 'no key shows its private part',
      needs: [jwks],
      run: async (world) => {
        for (const key of filledListAt((await answered(world)).body, 'keys')) expectAbsent(key, 'd')
      },
    },
    {
      id: 'jwks.names-differ',
      title: 'every key has a name of its own',
      needs: [jwks],
      isProjectDecision: true,
      run: async (world) => {
        const names = filledListAt((await answered(world)).body, 'keys').map((key) => textAt(key, 'kid'))
        expectEqual(new Set(names).size, names.length, 'different names:')
      },
    },
    {
      id: 'jwks.any-origin',
      title: 'a page of any origin can read the keys',
      needs: [jwks],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await answered(world)
        expectStatus(answer, 200)
        expectEqual(answer.headers.get('access-control-allow-origin'), '*', 'allowed origin')
      },
    },
    {
      id: 'jwks.cacheable',
      title: 'the keys may be kept for a while, and asked for again by their tag',
      needs: [jwks],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await answered(world)
        expectStatus(answer, 200)
        const cache = answer.headers.get('cache-control') ?? ''
        expectThat(/\bpublic\b/.test(cache) && /\bmax-age=\d+/.test(cache), 'public and max-age', cache)
        const tag = answer.headers.get('etag') ?? ''
        expectThat(/^".+"$/.test(tag), 'a strong ETag', tag)
      },
    },
  ],
}
