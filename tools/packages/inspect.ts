import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import type { Tarball } from './staging.ts'

/**
 * The packages are ES modules. Two ways to resolve them are not offered: that of TypeScript before 4.7, which does not know
 * `exports`, and `require` in a program that the compiler takes for CommonJS. Node itself requires ES modules from 20.19 on.
 */
const notOffered = new Set(['node10', 'node16-cjs'])

/** What publint says of a tarball. */
const publintFaults = async (tarball: Tarball): Promise<string[]> => {
  const { buffer } = Uint8Array.from(readFileSync(tarball.path))
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true })
  // Where the sources are published is not known before they are.
  return messages
    .map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
    .filter((text) => !text.includes('repository'))
}

/** What Are The Types Wrong says of the entries of a tarball. */
const typeFaults = async (tarball: Tarball): Promise<string[]> => {
  const analysis = await checkPackage(
    createPackageFromTarballData(Uint8Array.from(readFileSync(tarball.path))),
  )
  if (!analysis.types) return ['it has no types']
  return analysis.problems
    .filter((problem) => !('resolutionKind' in problem && notOffered.has(problem.resolutionKind)))
    .map((problem) => `${problem.kind} ${'entrypoint' in problem ? problem.entrypoint : ''}`)
}

/** Files that do not belong in a tarball, and those that must be there. */
export const contentFaults = ({ files }: Pick<Tarball, 'files'>): string[] => [
  ...['package.json', 'README.md', 'LICENSE']
    .filter((name) => !files.includes(name))
    .map((name) => `${name} is missing`),
  ...files
    .filter((path) => /(?<!\.d)\.[mc]?tsx?$/.test(path) || /\.(?:map|tsbuildinfo)$|\.test\./.test(path))
    .map((path) => `${path} does not belong in it`),
]

/** Everything that is wrong with a tarball. */
export const inspectTarball = async (tarball: Tarball): Promise<string[]> => {
  const hasInterface = tarball.files.some((path) => path.endsWith('.d.ts'))
  return [
    ...contentFaults(tarball),
    ...(await publintFaults(tarball)),
    ...(hasInterface ? await typeFaults(tarball) : []),
  ].map((fault) => `${tarball.name}: ${fault}`)
}
