// Checks the files of a release against their signed checksums.
// npm run release:verify -- --signers FILE --identity NAME [--folder FOLDER]
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../catalogue.ts'
import { releaseFaults } from './checksums.ts'

const { values } = parseArgs({
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
