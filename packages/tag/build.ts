// Builds tag.js, check.js, compat.js, task.js and visit.js into dist/ (or the folder given), from where the server serves them.
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { ownNames } from './own-names.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

for (const [index, [name, source]] of Object.entries({
  tag: 'tag.ts',
  check: 'check.ts',
  visit: 'visit/visit.ts',
  task: 'task/task.ts',
  compat: 'compat.ts',
}).entries())
  await build({
    configFile: false,
    root: here('.'),
    logLevel: 'warn',
    build: {
      outDir: process.argv[2] ?? here('dist'),
      emptyOutDir: index === 0,
      modulePreload: false,
      target: 'es2022',
      // light-dark() as it is written.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // One plain script each: it runs from one line of HTML and knows by its own address whom to talk to.
      rolldownOptions: {
        // On a busy machine a slow build is no news.
        checks: { bundlerTimings: false },
        // Tables of the protocol that only readers of chunks use are left out.
        treeshake: { manualPureFunctions: ['Map', 'Object.entries'] },
        input: here(`src/${source}`),
        output: {
          format: 'iife',
          entryFileNames: `${name}.js`,
          minify: {
            compress: true,
            mangle: true,
            codegen: true,
            mangleProps: { include: new RegExp(`^(${ownNames.join('|')})$`) },
          },
        },
      },
    },
  })
