import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forgingFile, type ForgingFile } from '@pohf/protocol'

/** `npm run arena -- --price` writes it. */
const shippedFile = join(import.meta.dirname, 'prices.json')

/** Reads the price table: the file of the operator, else the one of this version. */
export const readForgingFile = (path: string): ForgingFile => {
  const source = path === '' ? shippedFile : path
  try {
    return forgingFile.parse(JSON.parse(readFileSync(source, 'utf8')))
  } catch (cause) {
    throw new Error(`price table cannot be read from ${source}`, { cause })
  }
}
