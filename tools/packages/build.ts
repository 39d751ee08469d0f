import { parseArgs } from 'node:util'
import { resolve } from 'node:path'
import { tableOf } from '../ci/pages/markdown.ts'
import { root } from './catalogue.ts'
import { buildPackages } from './staging.ts'

/** Builds the tarballs of the packages that are published. */
export const build = (parameters: readonly string[]): void => {
  const { values } = parseArgs({
    args: [...parameters],
    options: { out: { type: 'string', default: `${root}/dist/packages` } },
  })
  const tarballs = buildPackages(resolve(values.out))
  console.log(
    tableOf(
      ['Package', 'Files', 'KB packed', 'KB unpacked'],
      tarballs.map(({ name, version, files, bytes, unpackedBytes }) => [
        `${name}@${version}`,
        String(files.length),
        (bytes / 1_000).toFixed(1),
        (unpackedBytes / 1_000).toFixed(1),
      ]),
    ),
  )
  console.log(`written to ${values.out}`)
}
