// Golden file of what the program writes into its database: the keys of stored documents, which are property names in the
// sources, and words without a check constraint. It is made of the databases that a few rich tests leave behind.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { namesFileOf } from '../../../packages/server/test/fixtures/stored-values.ts'
import { linesText, readGolden, writeGolden } from './compare.ts'

export const storedName = 'stored.tsv'

/** Tests that go through much of the program and plant no rows of their own. */
export const storedTests: readonly string[] = [
  'packages/server/src/credentials/binding/anchors.test.ts',
  'packages/server/src/credits/credits.test.ts',
  'packages/server/src/evidence/evidence.test.ts',
  'packages/server/src/members/members.test.ts',
  'packages/server/src/partners/payout-approval.test.ts',
  'packages/server/src/payments/refunds/operator-refund.test.ts',
  'packages/server/src/payments/refunds/send-refunds.test.ts',
  'packages/server/src/sessions/sessions.test.ts',
  'packages/server/src/work/orders/chargeback.test.ts',
  'packages/server/src/purchases/buy.test.ts',
  'packages/server/src/microtasks/microtasks.test.ts',
  'packages/server/src/work/workers/workers.test.ts',
]

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

/** A folder in which each listed test finds its file and adds to it; the other tests leave nothing. */
export const makeStoredFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-stored-'))
  for (const file of storedTests) writeFileSync(join(folder, namesFileOf(resolve(file))), '')
  return folder
}

/** The names that one test file left in the folder. */
const namesFrom = (folder: string, testFile: string): string[] => {
  const path = join(folder, namesFileOf(resolve(testFile)))
  return existsSync(path) ? linesOf(readFileSync(path, 'utf8')) : []
}

/**
 * Names that the golden file does not know. A renamed property or word is always a new name; one that is missing may
 * only be a matter of timing, and is no fault.
 */
export const unknownNames = (golden: string, names: readonly string[]): string[] => {
  const known = new Set(linesOf(golden))
  return [...new Set(names)].filter((name) => !known.has(name)).toSorted()
}

/** Compares what the given test files stored, those of them that are listed. Says what is wrong. */
export const storedFaults = (folder: string, testFiles: readonly string[]): string[] => {
  const listed = testFiles.filter((file) => storedTests.includes(file))
  const silent = listed.filter((file) => namesFrom(folder, file).length === 0)
  const golden = readGolden(storedName) ?? ''
  return [
    ...silent.map((file) => `${file} left no names of what it stored`),
    ...unknownNames(
      golden,
      listed.flatMap((file) => namesFrom(folder, file)),
    ).map((name) => `+ ${name}`),
  ]
}

/** Runs the listed tests and adds what they store to the golden file. */
export const writeStored = (): void => {
  const folder = makeStoredFolder()
  try {
    const test = fileURLToPath(new URL('../test.ts', import.meta.url))
    const env = { ...process.env, POHF_STORED_NAMES: folder }
    const { status } = spawnSync(process.execPath, [test, ...storedTests], { stdio: 'inherit', env })
    if (status !== 0)
      throw new Error(`the tests that store names ended with status ${status}; their names are not written`)
    const names = storedTests.flatMap((file) => namesFrom(folder, file))
    const all = new Set([...linesOf(readGolden(storedName) ?? ''), ...names])
    writeGolden(new Map([[storedName, linesText([...all])]]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
