// Builds the pages of the sample site into dist/. npm run build -w packages/demo
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

await build({
  configFile: false,
  root: here('.'),
  logLevel: 'warn',
  build: {
    outDir: process.argv[2] ?? here('dist'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      // On a busy machine a slow build is no news.
      checks: { bundlerTimings: false },
      input: { form: here('form.html'), outcome: here('outcome.html'), session: here('session.html') },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
