import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '../platform/http/call.ts'

const builtFolder = fileURLToPath(new URL('../../../tag/dist', import.meta.url))
const names = ['tag.js', 'check.js'] as const
const mediaType = 'text/javascript; charset=utf-8'

export const isTagBuilt = (folder = builtFolder): boolean =>
  names.every((name) => existsSync(join(folder, name)))

/**
 * The scripts that pages embed, read once at the start. Their address never changes, so browsers revalidate them
 * after five minutes.
 */
export const tagPages = (folder = builtFolder): Page[] => {
  if (!isTagBuilt(folder))
    return names.map((name) => ({
      path: `/${name}`,
      handler: async () => ({
        status: 503,
        mediaType,
        text: '// This script is not built yet. Build it and start the service again: npm run build\n',
      }),
    }))
  return names.map((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    const headers = {
      'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
      'access-control-allow-origin': '*',
      etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    }
    return { path: `/${name}`, handler: async () => ({ mediaType, text, headers }) }
  })
}
