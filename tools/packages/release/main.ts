// Makes and verifies a release.
// npm run release -- build [--out FOLDER]
// npm run release -- prepare --key KEY [--out FOLDER]
// npm run release -- verify --signers FILE --identity NAME [--folder FOLDER]
import { build } from '../build.ts'
import { prepare } from './prepare.ts'
import { verify } from './verify.ts'

const commands = new Map([
  ['build', build],
  ['prepare', prepare],
  ['verify', verify],
])

const [name = '', ...parameters] = process.argv.slice(2)
const command = commands.get(name)
if (command === undefined) {
  console.error(`npm run release -- ${[...commands.keys()].join(' | ')}`)
  process.exitCode = 1
} else command(parameters)
