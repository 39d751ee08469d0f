import { cpSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const repositoryRoot = resolve(import.meta.dirname, '../..')
export const dockerfilePath = join(repositoryRoot, 'deploy/Dockerfile')

type Copy = {
  readonly stage: number
  /** The stage from which it copies; undefined: from the repository. */
  readonly from: string | undefined
  readonly sources: readonly string[]
  readonly target: string
}

/** The COPY lines of a Dockerfile, with the number of their stage. */
export const readCopies = (text: string): Copy[] => {
  let stage = -1
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('FROM ')) stage += 1
    if (!line.startsWith('COPY ')) return []
    const words = line.split(/\s+/).slice(1)
    const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length)
    const paths = words.filter((word) => !word.startsWith('--'))
    return [{ stage, from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }]
  })
}

/** A pattern of Docker, in which a star also matches names that begin with a dot. */
const expressionOf = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split('**/')
      .map((part) => part.replaceAll('.', String.raw`\.`).replaceAll('*', '[^/]*'))
      .join('(?:.*/)?')}$`,
  )

/** Whether deploy/Dockerfile.dockerignore lets a file into the build: the last line that matches it decides. */
export const isInContext = (path: string, ignoreText: string): boolean => {
  const parents = path.split('/').map((_, index, words) => words.slice(0, index + 1).join('/'))
  const lines = ignoreText.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  let included = true
  for (const line of lines) {
    const expression = expressionOf(line.replace(/^!/, ''))
    if (parents.some((parent) => expression.test(parent))) included = line.startsWith('!')
  }
  return included
}

/** Copies what a stage of the Dockerfile takes from the repository into a folder. */
export const copyStage = (copies: readonly Copy[], ignoreText: string, folder: string): number => {
  let files = 0
  for (const { sources, target } of copies)
    for (const source of sources) {
      const path = join(repositoryRoot, source)
      const found = globSync('**/*', { cwd: path, exclude: ['**/node_modules'], withFileTypes: true })
      const names = found
        .filter((entry) => entry.isFile())
        .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)))
      for (const name of names.length === 0 && existsSync(path) ? [source] : names) {
        if (!isInContext(name, ignoreText)) continue
        // A folder gives its content, a file itself.
        const place =
          names.length === 0
            ? join(target, source.split('/').at(-1) ?? '')
            : join(target, relative(source, name))
        mkdirSync(dirname(join(folder, place)), { recursive: true })
        cpSync(join(repositoryRoot, name), join(folder, place))
        files += 1
      }
    }
  return files
}

export const readIgnores = (): string => readFileSync(`${dockerfilePath}.dockerignore`, 'utf8')
