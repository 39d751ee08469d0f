import { readFileSync } from 'node:fs'
import { messageOf, UsageError } from './errors.ts'

/** The text of a file that the user named; - is standard input. */
export const readText = (path: string): string => {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read: ${messageOf(error)}`,
      'Name a file that you can read.',
      error,
    )
  }
}

export const readJson = (path: string): unknown => {
  const text = readText(path)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${messageOf(error)}`, 'Check the file with: jq . FILE', error)
  }
}
