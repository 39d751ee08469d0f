import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  publishedPackages,
  readSourceManifest,
  root,
  sourceFolderOf,
  type PublishedPackage,
} from './catalogue.ts'
import { compile, importFaults, inlineAssets, nameBuiltFiles } from './compile.ts'
import { manifestOf } from './manifest.ts'

export type Tarball = {
  readonly name: string
  readonly version: string
  readonly path: string
  readonly files: readonly string[]
  readonly bytes: number
  readonly unpackedBytes: number
}

const stage = (published: PublishedPackage, staging: string): string => {
  const folder = join(staging, published.folder)
  mkdirSync(folder)
  compile(published, staging)
  inlineAssets(published, staging)
  nameBuiltFiles(published, staging)
  if (published.hasScripts)
    execFileSync(process.execPath, [join(sourceFolderOf(published), 'build.ts'), join(folder, 'scripts')])
  const manifest = manifestOf(published, readSourceManifest(published))
  const known = [
    manifest.name,
    ...Object.keys(manifest.dependencies),
    ...Object.keys((manifest['peerDependencies'] as object | undefined) ?? {}),
  ]
  const faults = importFaults(published, folder, known)
  if (faults.length > 0) throw new Error(`${manifest.name} is incomplete:\n${faults.join('\n')}`)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  copyFileSync(join(sourceFolderOf(published), 'README.md'), join(folder, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  return folder
}

type PackedPackage = {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
  readonly size: number
  readonly unpackedSize: number
}

/** Builds every package and packs it into `out`, which is emptied before. The folders that were packed stay in `out/staging`. */
export const buildPackages = (out: string): Tarball[] => {
  const staging = join(out, 'staging')
  rmSync(out, { recursive: true, force: true })
  mkdirSync(staging, { recursive: true })
  const folders = publishedPackages.map((published) => stage(published, staging))
  const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', out, ...folders], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return (JSON.parse(printed) as PackedPackage[]).map(
    ({ name, version, filename, files, size, unpackedSize }) => ({
      name,
      version,
      path: join(out, filename),
      files: files.map(({ path }) => path),
      bytes: size,
      unpackedBytes: unpackedSize,
    }),
  )
}
