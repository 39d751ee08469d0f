// Builds the pages into dist/ (or the folder given), from where the server serves them. npm run build -w packages/web
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const buildInto = (outDir: string, base: string, names: readonly string[], emptyOutDir = true) =>
  build({
    configFile: false,
    root: here('.'),
    base,
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir,
      // Nothing is written into the page itself: the server's policy allows no inline script or style.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2022',
      rolldownOptions: {
        // An unused table is left out.
        treeshake: { manualPureFunctions: ['Map', 'Object.entries'] },
        input: Object.fromEntries(names.map((name) => [name, here(`${name}.html`)])),
        // It changes less often than the pages, so browsers can keep it when a page changes.
        output: { codeSplitting: { groups: [{ name: 'preact', test: /node_modules\/preact/ }] } },
      },
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  })

const folder = process.argv[2] ?? here('dist')
await buildInto(folder, '/', ['verify', 'console', 'recording'])
// Each by itself: the pages of workers and approvers only record, so what reads recordings is left out of their scripts.
await buildInto(folder, '/', ['work'], false)
await buildInto(folder, '/', ['approve'], false)
// By themselves, with files of their own: the public listener serves no byte of the operators' pages.
await buildInto(join(folder, 'operator'), '/operator/', ['operator'])
