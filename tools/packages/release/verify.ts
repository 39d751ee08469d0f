import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../catalogue.ts'
import { releaseFaults } from './checksums.ts'

/** Checks the files of a release against their signed checksums. */
export const verify = (parameters: readonly string[]): void => {
  const { values } = parseArgs({
    args: [...parameters],
    options: {
      signers: { type: 'string' },
      identity: { type: 'string' },
      folder: { type: 'string', default: join(root, 'dist/release') },
    },
  })
  if (values.signers === undefined || values.identity === undefined)
    throw new Error('--signers and --identity are needed: the file of allowed signers, and the name in it')
  const faults = releaseFaults(resolve(values.folder), resolve(values.signers), values.identity)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
  else console.log('every file is as it was signed')
}
