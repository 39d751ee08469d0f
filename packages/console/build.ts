// Builds the pages into dist/ (or the folder given), from where the server serves them. npm run build -w packages/console
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
    // Nothing is written into the page itself: the server's policy allows no inline script or style.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      input: {
        verify: here('verify.html'),
        console: here('console.html'),
        recording: here('recording.html'),
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
