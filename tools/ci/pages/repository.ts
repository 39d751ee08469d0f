import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageDescriptions } from '../../../packages/protocol/src/discovery/story.ts'
import { publishedPackages } from '../../packages/catalogue.ts'
import { root, withGeneratedPart, type GeneratedFile } from './markdown.ts'

type RootManifest = Readonly<Record<string, unknown>> & { readonly repository: { readonly url: string } }

const readText = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The address of the sources: `repository.url` in the package.json of the root. A fork changes it there alone. */
const repositoryUrl = (): string => (JSON.parse(readText('package.json')) as RootManifest).repository.url

const manifestFile = (path: string, folder?: string): GeneratedFile => {
  const url = repositoryUrl()
  const directory = folder === undefined ? undefined : `packages/${folder}`
  const description = folder === undefined ? undefined : packageDescriptions[folder]
  const fields = {
    homepage: url,
    bugs: { url: `${url}/issues` },
    repository: { type: 'git', url, ...(directory === undefined ? {} : { directory }) },
    ...(description === undefined ? {} : { description }),
  }
  const manifest = JSON.parse(readText(path)) as object
  return [path, `${JSON.stringify({ ...manifest, ...fields }, null, 2)}\n`]
}

/** The manifests and SECURITY.md with the address of the sources. */
export const repositoryFiles = (): GeneratedFile[] => [
  manifestFile('package.json'),
  ...publishedPackages.map(({ folder }) => manifestFile(`packages/${folder}/package.json`, folder)),
  withGeneratedPart('SECURITY.md', 'contact', `Contact: <${repositoryUrl()}/security/advisories/new>`),
]
