// Builds the documentation into dist/ (or the folder given), from where the server serves it at /docs. npm run build -w packages/docs
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { buildSite } from './src/site.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const folder = process.argv[2] ?? here('dist')

/** Builds the script and the style; returns their addresses. */
const buildAssets = async (): Promise<{ script: string; style: string }> => {
  const result = await build({
    configFile: false,
    root: here('.'),
    base: '/docs/',
    logLevel: 'warn',
    build: {
      outDir: folder,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: false,
      target: 'es2022',
      rolldownOptions: { input: here('client/docs.ts') },
    },
  })
  const outputs = [result].flat().flatMap((part) => ('output' in part ? part.output : []))
  const nameOf = (isWanted: (output: (typeof outputs)[number]) => boolean): string => {
    const found = outputs.find(isWanted)
    if (!found) throw new Error(`the build wrote only ${outputs.map(({ fileName }) => fileName).join(', ')}`)
    return `/docs/${found.fileName}`
  }
  return {
    script: nameOf((output) => output.type === 'chunk' && output.isEntry),
    style: nameOf(({ fileName }) => fileName.endsWith('.css')),
  }
}

for (const { name, text } of buildSite(await buildAssets())) {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
