// Builds the pages into dist/ (or the folder given), from where the server serves them. npm run build -w packages/web
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const buildInto = (outDir: string, base: string, names: readonly string[]) =>
  build({
    configFile: false,
    root: here('.'),
    base,
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: true,
      // Nothing is written into the page itself: the server's policy allows no inline script or style.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2022',
      rolldownOptions: { input: Object.fromEntries(names.map((name) => [name, here(`${name}.html`)])) },
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  })

const folder = process.argv[2] ?? here('dist')
await buildInto(folder, '/', ['verify', 'console', 'recording', 'work'])
// By themselves, with files of their own: the public listener serves no byte of the operators' pages.
await buildInto(join(folder, 'operator'), '/operator/', ['operator'])
