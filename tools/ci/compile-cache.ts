import { fileURLToPath } from 'node:url'

/**
 * Node keeps stripped and compiled modules here. Each of the 200 test files is a process of its own and loads the whole server:
 * 2.5 s of CPU without the cache, 1.3 s with it.
 */
export const compileCache = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)),
}
