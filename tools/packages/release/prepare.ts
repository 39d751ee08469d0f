import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { currentInterface, printInterface, readReleased } from '../../ci/compatibility/interface.ts'
import { publishedPackages, readSourceManifest, root } from '../catalogue.ts'
import { contentFaults } from '../inspect.ts'
import { buildPackages } from '../staging.ts'
import { signChecksums, writeChecksums } from './checksums.ts'
import { readMaterials } from './materials.ts'
import { notesOf } from './notes.ts'

/** Writes the files of a release: tarballs, bill of materials, notes, checksums and their signature. It publishes nothing. */
export const prepare = (parameters: readonly string[]): void => {
  const { values } = parseArgs({
    args: [...parameters],
    options: {
      key: { type: 'string' },
      out: { type: 'string', default: join(root, 'dist/release') },
    },
  })
  if (values.key === undefined) throw new Error('--key is needed: the SSH key that signs the checksums')

  const pending = readdirSync(join(root, '.changeset')).filter(
    (name) => name.endsWith('.md') && name !== 'README.md',
  )
  if (pending.length > 0)
    throw new Error(
      `changesets are pending: ${pending.join(', ')}. Run npx changeset version and commit first`,
    )

  const addresses = publishedPackages.map((published) => readSourceManifest(published).repository.url)
  if (addresses.some((address) => new URL(address).hostname.endsWith('.example')))
    throw new Error(
      'repository.url in package.json is an example. Set it, run npm run generate and commit first',
    )

  const out = resolve(values.out)
  const tarballs = buildPackages(join(root, 'dist/packages'))
  const versions = [...new Set(tarballs.map(({ version }) => version))]
  const [version = ''] = versions
  if (versions.length !== 1) throw new Error(`the packages have several versions: ${versions.join(', ')}`)
  if (printInterface(readReleased()) !== printInterface({ ...currentInterface(), release: version }))
    throw new Error(
      `the interface of ${version} is not recorded. Run npx node tools/ci/compatibility/main.ts --release and commit first`,
    )
  const faults = tarballs.flatMap((tarball) => contentFaults(tarball))
  if (faults.length > 0) throw new Error(faults.join('\n'))

  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  for (const { path } of tarballs) copyFileSync(path, join(out, basename(path)))
  const materials = readMaterials()
  writeFileSync(join(out, `pohf-${version}.cdx.json`), `${JSON.stringify(materials, null, 2)}\n`)
  writeFileSync(
    join(out, `pohf-${version}-notes.md`),
    notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version),
  )
  writeChecksums(out)
  signChecksums(out, resolve(values.key))
  console.log(
    `${tarballs.length} tarballs of ${version} and ${materials.components.length} components in the bill of materials: ${values.out}`,
  )
}
