import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '../platform/http/call.ts'
import { staticPage } from '../platform/http/static-page.ts'

const builtFolder = fileURLToPath(new URL('../../../tag/dist', import.meta.url))
/** Each address with its file. The last three stand in for the scripts of other services. */
const scripts = [
  ['/tag.js', 'tag.js'],
  ['/check.js', 'check.js'],
  ['/visit.js', 'visit.js'],
  ['/task.js', 'task.js'],
  ['/recaptcha/api.js', 'compat.js'],
  ['/1/api.js', 'compat.js'],
  ['/turnstile/v0/api.js', 'compat.js'],
] as const
const mediaType = 'text/javascript; charset=utf-8'

export const isTagBuilt = (folder = builtFolder): boolean =>
  scripts.every(([, name]) => existsSync(join(folder, name)))

/**
 * The scripts that pages embed, read once at the start. Their address never changes, so browsers revalidate them
 * after five minutes.
 */
export const tagPages = (folder = builtFolder): Page[] => {
  if (!isTagBuilt(folder))
    return scripts.map(([path]) => ({
      path,
      handler: async () => ({
        status: 503,
        mediaType,
        text: '// This script is not built yet. Build it and start the service again: npm run build\n',
      }),
    }))
  return scripts.map(([path, name]) => {
    const text = readFileSync(join(folder, name), 'utf8')
    const headers = {
      'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
      'access-control-allow-origin': '*',
      etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    }
    return staticPage(path, { mediaType, text, headers })
  })
}
