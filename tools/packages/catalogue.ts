// The packages that are published. Each one follows those that it depends on.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export type PublishedPackage = {
  /** The folder under `packages/`. */
  readonly folder: string
  /** Files of `dist` that act when they are imported: a bundler must not drop them. */
  readonly sideEffects?: readonly string[]
  /** The browser scripts are built by the package itself and put into `scripts/`. */
  readonly hasScripts?: true
  /** A program without an interface for other programs: its types are checked in the workspace, and none are written. */
  readonly isProgram?: true
  /** Packages of the workspace and of npm that are left out, with every file that imports them. */
  readonly leaveOut?: readonly string[]
}

export const publishedPackages: readonly PublishedPackage[] = [
  { folder: 'protocol' },
  { folder: 'verify' },
  { folder: 'scorer' },
  { folder: 'sdk' },
  { folder: 'tag', sideEffects: ['./dist/check.js', './dist/task.js'], hasScripts: true },
  // The server is run from a checkout or the image. pg is only for the command that checks its database.
  { folder: 'cli', isProgram: true, leaveOut: ['@pohf/server', 'pg'] },
]

export type SourceManifest = {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly keywords: readonly string[]
  readonly license: string
  readonly homepage: string
  readonly bugs: { readonly url: string }
  readonly repository: { readonly type: 'git'; readonly url: string; readonly directory: string }
  readonly exports?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
}

export const sourceFolderOf = ({ folder }: PublishedPackage): string => join(root, 'packages', folder)

export const readSourceManifest = (published: PublishedPackage): SourceManifest =>
  JSON.parse(readFileSync(join(sourceFolderOf(published), 'package.json'), 'utf8')) as SourceManifest
