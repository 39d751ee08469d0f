// Writes dist/ (or the folder given): what is published. In this workspace the sources run as they are.
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const out = process.argv[2] ?? here('dist')

rmSync(out, { recursive: true, force: true })
const { status } = spawnSync('tsc', ['-p', here('tsconfig.build.json'), '--outDir', out], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

const {
  devDependencies: _dev,
  publishConfig: _config,
  scripts: _scripts,
  ...manifest
} = JSON.parse(readFileSync(here('package.json'), 'utf8')) as Record<string, unknown>
const published = {
  ...manifest,
  sideEffects: false,
  types: './index.d.ts',
  exports: { '.': { types: './index.d.ts', default: './index.js' } },
}
writeFileSync(join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
copyFileSync(here('README.md'), join(out, 'README.md'))
