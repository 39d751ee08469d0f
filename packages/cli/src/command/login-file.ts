import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { UsageError } from './errors.ts'

/** The key that `pohf login` keeps, and the only service that gets it. */
export type Login = { readonly url: string; readonly key: string; readonly agentId: string | null }

/** A relative XDG_CONFIG_HOME is ignored, as the XDG specification asks. */
export const loginFile = (environment: NodeJS.ProcessEnv = process.env): string => {
  const folder = environment['XDG_CONFIG_HOME'] ?? ''
  return join(isAbsolute(folder) ? folder : join(homedir(), '.config'), 'pohf', 'login.json')
}

const isLogin = (value: unknown): value is Login =>
  typeof value === 'object' &&
  value !== null &&
  'url' in value &&
  typeof value.url === 'string' &&
  'key' in value &&
  typeof value.key === 'string'

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** The stored login, if there is one. A file that others can read is refused: its key is no secret any more. */
export const readLogin = (): Login | undefined => {
  const file = loginFile()
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new UsageError(
        `Other users of this machine can read ${file}, which holds your API key.`,
        `Run chmod 600 ${file}, and rotate the key if somebody may have read it.`,
      )
    const login: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isLogin(login)) return login
  } catch (error) {
    if (error instanceof UsageError) throw error
    if (isMissing(error)) return undefined
  }
  throw new UsageError(`${file} holds no login.`, 'Run pohf logout, then pohf login.')
}

/** The file appears whole and with mode 0600, whatever was there before. */
export const writeLogin = (login: Login): string => {
  const file = loginFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, `${JSON.stringify(login)}\n`, { mode: 0o600, flag: 'wx', flush: true })
  // The mode of a new file is what the umask leaves of it.
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
  return file
}

/** Whether there was a login. */
export const deleteLogin = (): boolean => {
  try {
    rmSync(loginFile())
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
