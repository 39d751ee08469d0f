import { CommandError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'

/** A checkout and the image run the sources, which include the server. The npm package is compiled and has none. */
const hasServer = import.meta.url.endsWith('.ts')

/** For commands that import the server or start one of its programs. */
export const requireServer = (): void => {
  if (hasServer) return
  throw new CommandError('This command needs the server, which is not part of the npm package.', {
    code: 'not_installed',
    exitCode: exitCodes.usage,
    fix: 'Run it in a checkout of the repository or in the container image.',
  })
}
